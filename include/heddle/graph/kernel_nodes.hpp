// Nodes that launch kernels.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include <heddle/graph/node_of.hpp>
#include <heddle/launch/dependent_launch.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/launch/launch.hpp>

namespace heddle {

namespace detail {
/// Checks a launch and sets it as the node's work.
void set_kernel(NodeData& node, const LaunchCall& call);
/// Sets a launch that differs in one argument, which the caller has checked. The other arguments
/// keep the allocation serials that were noted when they were set.
void change_kernel(NodeData& node, const LaunchCall& call, std::int8_t argument);
/// Throws UsageError if an array that the node uses has been destroyed, even if another array now
/// uses its Block.
void check_arrays(const GraphNode& node, const SourceLocation& where);
struct SetKernel {
    NodeData& node;
    void operator()(const LaunchCall& call) const { set_kernel(node, call); }
};
struct ChangeKernel {
    NodeData& node;
    std::int8_t argument;
    void operator()(const LaunchCall& call) const { change_kernel(node, call, argument); }
};
/// Sets the extents and options. Has no effect while the node has no arguments.
void set_extents(NodeData& node, const std::size_t* extent, std::size_t dimensions,
                 const GivenOptions& how, const SourceLocation& where);
void set_grid(NodeData& node, const LaunchGrid& grid);
/// Throws as launch() does on a stream of the device. Raises the kernel's limit of dynamic shared
/// memory if needed.
void check_grid(Device device, const WorkType& type, void* kernel, const LaunchGrid& grid);
/// Reads the current extents (of a portable kernel) and options. Returns false, and changes
/// neither, while the node has no arguments.
bool read_shape(const NodeData& node, std::size_t* extent, LaunchOptions& options,
                const SourceLocation& where);
/// Throws UsageError unless both are kernels of one device.
void check_dependent(const NodeData& node, const GraphNode& first, const SourceLocation& where);
/// Lets the kernel start before `first` has completed. Call it after after(first).
void make_dependent(NodeData& node, const GraphNode& first, const SourceLocation& where);
/// Sets the priority, clamped to the device's range. Throws Unsupported if the priority changes in
/// an instantiated CUDA graph.
void set_priority(NodeData& node, int priority, const SourceLocation& where);
StreamState& any_stream(Device device);
/// Returns the kernel object of a node and writes its extents to `extent`. Throws UsageError if the
/// node's kernel is not the one that `asked` describes, or if the node has no arguments yet.
const void* kernel_of(const GraphNode& node, const AskedKernel& asked, std::size_t* extent,
                      const SourceLocation& where);
/// Throws UsageError if `a` is an empty Array. `argument` is its position in `call`, from 1.
template <class A>
void check_not_empty([[maybe_unused]] A& a, [[maybe_unused]] const char* call,
                     [[maybe_unused]] const SourceLocation& where, [[maybe_unused]] int argument) {
    if constexpr (is_array<std::remove_const_t<A>>)
        if (Access::block(a) == nullptr) [[unlikely]]
            throw_no_array(call, where, argument);
}
/// Throws as launch() does for the argument `index` on a stream of `device`.
template <class A>
void check_node_argument(A& a, std::size_t index, Device device, const SourceLocation& where) {
    KernelArg<A> kept = kernel_argument(a);
    MemoryArguments<KernelArg<A>> used;
    used.add(a, kept, index, false);
    for (const MemoryArgument& one : used.all()) check_memory(one, any_stream(device), where);
    check_not_empty(a, "set", where, argument_index(index) + 1);
}
/// Throws UsageError for a PreparedLaunch that was moved from.
[[noreturn]] void throw_moved_prepared(const char* call, const SourceLocation& where);

/// Accepts dim() for kernel objects only, and grid() for all kernels.
template <class K, class S>
concept NodeKernel = std::is_same_v<S, LaunchGrid> || KernelObject<K>;
}  // namespace detail

inline namespace HEDDLE_COMPILED_BY {

template <class K, int N, class... P> class PreparedLaunch;

/// A node that launches a kernel: KernelNode, GlobalNode or ModuleNode. Made by kernel_node(). K is
/// the kernel, S the shape of its launch.
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
            shape_.how.given |=
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
