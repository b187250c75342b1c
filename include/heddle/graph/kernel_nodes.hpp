// Nodes that launch kernels.
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include <heddle/graph/detail/kernel_work.hpp>
#include <heddle/graph/node_of.hpp>
#include <heddle/launch/dependent_launch.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/launch/launch.hpp>

namespace heddle HEDDLE_VISIBLE {

inline namespace HEDDLE_COMPILED_BY {

template <class K, int N, class... P> class PreparedLaunch;

/// A node that launches a kernel: KernelNode, GlobalNode or ModuleNode. Made by kernel_node(). K is
/// the kernel, S the shape of its launch.
///
///     auto scale = kernel_node(Scale{}, dim(n), 2.0f, x);
///     Graph graph = scale.build();
///     scale.args(3.0f, x).dim(dim(n / 2));  // from the next launch on
///
/// Errors: kernel_node(), args() and grid() check as launch() does. build() throws UsageError for a
/// kernel without arguments. Lifetime and threads: see GraphNode.
template <class K, class S> class BasicKernelNode : public NodeOf<BasicKernelNode<K, S>> {
    static constexpr bool is_portable = !std::is_same_v<S, LaunchGrid>;

public:
    /// Refers to an existing node of a graph, so that it can be changed: `KernelNode<Scale, 1>
    /// scale(graph.node("scale"))`. Throws UsageError unless the node launches this kernel with a
    /// shape of type S, that is, with the same number of indices.
    explicit BasicKernelNode(const GraphNode& node, Where where = {})
        requires(is_portable)
        : NodeOf<BasicKernelNode>(node), shape_{{where, {}}, {}},
          kernel_(*static_cast<const K*>(
              detail::kernel_of(node, detail::LaunchTraits<K, S>::asked, shape_.extent, where))) {}

    /// Sets the arguments after the indices, from the next launch on. Checks them as launch() does.
    template <class... A> BasicKernelNode& args(A&&... arguments) {
        using Traits = detail::LaunchTraits<K, S>;
        if constexpr (Traits::template can_launch<A...>) {
            update_shape();
            detail::describe_launch(kernel_, shape_, detail::SetKernel{this->data()}, arguments...);
        } else (void)sizeof(*Traits::template why<A...>());
        return *this;
    }
    /// Sets the extents and launch options, from the next launch on. Throws Unsupported if options
    /// other than block and shared_bytes change in an instantiated CUDA graph.
    BasicKernelNode& dim(const S& d)
        requires(is_portable)
    {
        shape_ = d;
        detail::set_extents(this->data(), d.extent, std::size(d.extent), d.how, d.where);
        return *this;
    }
    /// Sets grid, block, dynamic shared memory and launch options, from the next launch on. Throws
    /// as launch() does for an impossible grid, and Unsupported as dim() does.
    BasicKernelNode& grid(const LaunchGrid& grid)
        requires(!is_portable)
    {
        check_grid(kernel_, this->device(), grid);
        shape_ = grid;
        detail::set_grid(this->data(), grid);
        return *this;
    }
    /// Orders this kernel after `first`, but lets it start before those nodes have completed. This
    /// is a dependent launch (heddle/launch/dependent_launch.hpp) in a graph. Throws UsageError for
    /// a node that is not a kernel of the same device.
    template <std::derived_from<GraphNode>... Nodes>
    BasicKernelNode& dependent_on(const Nodes&... first)
        requires(is_portable)
    {
        static_assert(WaitsForPrimary<K>,
                      "heddle::kernel_node: a dependent kernel must wait for the previous kernel: "
                      "call wait_for_primary() in all its threads, and declare `static constexpr "
                      "bool waits_for_primary = true;`");
        (detail::check_dependent(this->data(), first, SourceLocation()), ...);
        this->after(first...);
        (detail::make_dependent(this->data(), first, SourceLocation()), ...);
        return *this;
    }
    /// Sets the priority, as LaunchOptions::priority does. Among the graph's ready kernels, the
    /// most urgent (smallest value, as for streams) runs first. The default is 0; a captured kernel
    /// has its stream's priority.
    ///
    /// On CUDA, a graph with such nodes runs at its nodes' priorities, not at its stream's
    /// priority. Throws Unsupported if the priority changes after instantiation.
    BasicKernelNode& priority(int value, Where where = {}) {
        detail::set_priority(this->data(), value, where);
        return *this;
    }

private:
    friend detail::Access;
    BasicKernelNode(const K& kernel, const S& shape, Device device)
        : NodeOf<BasicKernelNode>(detail::new_node(NodeKind::kernel, device, shape.where)),
          shape_(shape), kernel_(kernel) {
        if constexpr (!is_portable) {
            check_grid(kernel, device, shape);
            this->name(detail::LaunchTraits<K, S>::name(kernel));
        }
        if (detail::LaunchTraits<K, S>::takes_nothing(kernel)) no_args();
    }
    static void check_grid(const K& kernel, Device device, const LaunchGrid& grid) {
        using Traits = detail::LaunchTraits<K, S>;
        detail::check_grid(device, Traits::any_type(), Traits::symbol(kernel), grid);
    }
    void no_args() {
        if constexpr (detail::LaunchTraits<K, S>::may_take_nothing) args();
    }
    /// Reads the current extents and options, because another handle may have changed them.
    void update_shape() {
        if constexpr (is_portable)
            shape_.how.is_set |=
                detail::read_shape(this->data(), shape_.extent, shape_.how.options, shape_.where);
    }
    template <class... P> void change_argument(std::int8_t argument, const P&... values) {
        update_shape();
        detail::describe_launch(kernel_, shape_, detail::ChangeKernel{this->data(), argument},
                                values...);
    }

    S shape_;
    K kernel_;
};

/// A node that runs a portable kernel with N indices.
template <class K, int N> using KernelNode = BasicKernelNode<K, Dim<N>>;

/// Makes a node that launches a kernel, with dim() or grid() as for launch(). The node runs on
/// `device`, by default the current one; a module's kernel always runs on the module's device.
/// Arguments may be omitted here and set by args() before build().
template <class K, detail::IsLaunchShape S, class... A>
    requires(detail::NodeKernel<K, S>)
auto kernel_node(Device device, const K& kernel, const S& shape, A&&... args) {
    auto node =
        detail::Access::make<BasicKernelNode<std::decay_t<const K&>, S>>(kernel, shape, device);
    if constexpr (sizeof...(A) > 0) {
        using Traits = detail::LaunchTraits<std::decay_t<const K&>, S>;
        // Checked here, not only in args(): otherwise clang's message would not name the caller's
        // line.
        if constexpr (Traits::template can_launch<A...>) node.args(std::forward<A>(args)...);
        else (void)sizeof(*Traits::template why<A...>());
    }
    return node;
}
template <class K, detail::IsLaunchShape S, class... A>
    requires(detail::NodeKernel<K, S>)
auto kernel_node(const K& kernel, const S& shape, A&&... args) {
    return kernel_node(detail::LaunchTraits<std::decay_t<const K&>, S>::device(kernel), kernel,
                       shape, std::forward<A>(args)...);
}
/// Deleted: write dim(n) for the number of indices.
template <class Why = mistake::the_number_of_indices_is_dim_of_n, detail::KernelObject K,
          std::integral N, class... A>
Why kernel_node(const K&, N, A&&...) = delete;

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle
