// Nodes: the work of a graph, made before the graph.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <heddle/detail/work.hpp>
#include <heddle/graph/graph.hpp>
#include <heddle/launch/dependent_launch.hpp>
#include <heddle/launch/launch.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/observe/host_access.hpp>

namespace heddle {

/// The base of all kinds of nodes; `Self` is the kind. Setters may be called again, also on a node
/// in a graph, and take effect at its next launch. Only the dependencies and the device are fixed
/// when the graph is built.
template <class Self> class NodeOf : public GraphNode {
public:
    /// Orders this node after those. Throws UsageError if it is already in a graph.
    template <std::derived_from<GraphNode>... Nodes> Self& after(const Nodes&... first) {
        (add_dependency(first, SourceLocation()), ...);
        return self();
    }
    using GraphNode::name;
    /// Sets the name, which is shown in errors and in Graph::dot(), and which Graph::node() finds.
    Self& name(std::string text) {
        set_name(std::move(text));
        return self();
    }

protected:
    using GraphNode::GraphNode;
    explicit NodeOf(const GraphNode& node) : GraphNode(node) {}
    Self& self() noexcept { return static_cast<Self&>(*this); }
};

namespace detail {
std::shared_ptr<NodeData> new_node(NodeKind kind, Device device, Where where);
/// Sets a host function, which uses the memory. Moves the closure out of `self`, which the caller
/// still has to destroy.
void set_host_function(NodeData& node, const WorkType& type, void* self,
                       std::span<const MemoryArgument> memory, const SourceLocation& where);
/// Checks and sets what a kernel node launches.
void set_kernel(NodeData& node, const LaunchCall& call);
/// Sets a launch that differs in one argument only, which has been checked. The other arrays keep
/// the allocations (serials) noted when they were set.
void change_kernel(NodeData& node, const LaunchCall& call, std::int8_t argument);
/// Throws UsageError if an array that the node uses is gone, also if its record is another array's
/// now.
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
/// These two do nothing while the node has no arguments.
void set_extents(NodeData& node, const std::size_t* extent, std::size_t dimensions,
                 const GivenOptions& how, const SourceLocation& where);
void set_grid(NodeData& node, const LaunchGrid& grid);
/// Throws what launch() would on a stream of the device. Raises the kernel's limit of dynamic
/// shared memory if needed.
void check_grid(Device device, const WorkType& type, void* kernel, const LaunchGrid& grid);
void set_copy(NodeData& node, const Region& to, const Region& from, const SourceLocation& where);
void set_fill(NodeData& node, const Region& to, const void* value, std::size_t size,
              const SourceLocation& where);
/// Reads the present extents (of a portable kernel) and options. Returns false, and leaves both
/// alone, while the node has no arguments.
bool read_shape(const NodeData& node, std::size_t* extent, LaunchOptions& options,
                const SourceLocation& where);
/// Throws UsageError unless both are kernels of one device.
void check_dependent(const NodeData& node, const GraphNode& first, const SourceLocation& where);
/// Lets a kernel start before `first` has finished, behind which it already comes.
void make_dependent(NodeData& node, const GraphNode& first, const SourceLocation& where);
/// Clamps the priority to the device's range. Throws Unsupported if it changes in an instantiated
/// CUDA graph.
void set_priority(NodeData& node, int priority, const SourceLocation& where);
void set_event(NodeData& node, const Event& event, const SourceLocation& where);
StreamState& any_stream(Device device);
void set_child(NodeData& node, const Graph& graph, const SourceLocation& where);
/// Returns `node`. Throws UsageError if it is of another kind.
const GraphNode& check_kind(const GraphNode& node, NodeKind kind, const SourceLocation& where);
/// Returns the kernel object of a node, and writes its extents to `extent`. Throws UsageError if it
/// is not the kernel `asked`, or has no arguments yet.
const void* kernel_of(const GraphNode& node, const AskedKernel& asked, std::size_t* extent,
                      const SourceLocation& where);
/// Returns the device on which a copy or a fill runs by default, as copy() and fill() choose it.
/// `from` is null for fills.
Device device_of(const Region& to, const Region* from, const SourceLocation& where);
/// Throws UsageError for an Array that holds nothing, given to `call`.
template <class A> void check_not_empty(A& a, const char* call, const SourceLocation& where) {
    if constexpr (is_array<std::remove_const_t<A>>) check_held(a, call, where);
}
/// Throws what launch() would for this argument on a stream of `device`.
template <class A> void check_node_argument(A& a, Device device, const SourceLocation& where) {
    KernelArg<A> kept = kernel_argument(a);
    MemoryArguments<KernelArg<A>> used;
    used.add(a, kept, 0, false);
    for (const MemoryArgument& one : used.all()) check_memory(one, any_stream(device), where);
    check_not_empty(a, "set", where);
}

/// dim() is for kernel objects, and grid() for all others.
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
    /// Refers to a node of a graph, found by name or captured, so that it can be changed:
    /// `KernelNode<Scale, 1> scale(graph.node("scale"))`. Throws UsageError if it is not this
    /// kernel with as many indices.
    explicit BasicKernelNode(const GraphNode& node, Where where = {})
        requires(is_portable)
        : NodeOf<BasicKernelNode>(node), shape_{{where, {}}, {}},
          kernel_(*static_cast<const K*>(
              detail::kernel_of(node, detail::LaunchTraits<K, S>::asked, shape_.extent, where))) {}

    /// Sets the arguments after the indices, from the next launch on. They are checked as those of
    /// launch().
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
    /// what launch() does for an impossible grid, and Unsupported as dim() does.
    BasicKernelNode& grid(const LaunchGrid& grid)
        requires(!is_portable)
    {
        check_grid(kernel_, this->device(), grid);
        shape_ = grid;
        detail::set_grid(this->data(), grid);
        return *this;
    }
    /// Orders this kernel after those, but lets it start before they have finished: the graph's
    /// form of a dependent launch (heddle/launch/dependent_launch.hpp). Throws UsageError for a
    /// node that is not a kernel of the same device.
    template <std::derived_from<GraphNode>... Nodes>
    BasicKernelNode& dependent_on(const Nodes&... first)
        requires(is_portable)
    {
        static_assert(
            WaitsForPrimary<K>,
            "heddle::kernel_node: a kernel that depends on another one's memory has to "
            "wait for it: call wait_for_primary() in it, and say so with `static constexpr "
            "bool waits_for_primary = true;`");
        (detail::check_dependent(this->data(), first, SourceLocation()), ...);
        this->after(first...);
        (detail::make_dependent(this->data(), first, SourceLocation()), ...);
        return *this;
    }
    /// Sets the priority, as LaunchOptions::priority does. Of the graph's kernels that are ready,
    /// the most urgent (smallest value, as for streams) runs first. The default is 0; a captured
    /// kernel has its stream's priority.
    ///
    /// On CUDA a graph with such nodes runs at its nodes' priorities, not at the stream's. Once it
    /// is instantiated, they cannot be changed (Unsupported).
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
    /// Another handle may have changed the extents and options.
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

/// Makes a node that launches a kernel, with dim() or grid() as launch() does, on `device`: by
/// default the current one, for a module's kernel always the module's. Arguments may be left out,
/// and set by args() before build().
template <class K, detail::IsLaunchShape S, class... A>
    requires(detail::NodeKernel<K, S>)
auto kernel_node(Device device, const K& kernel, const S& shape, A&&... args) {
    auto node =
        detail::Access::make<BasicKernelNode<std::decay_t<const K&>, S>>(kernel, shape, device);
    if constexpr (sizeof...(A) > 0) {
        using Traits = detail::LaunchTraits<std::decay_t<const K&>, S>;
        // Here, and not in args() alone, because clang would not name the caller's line.
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

/// A node that copies between arrays, views and pinned memory: on one device, between host and
/// device, or between two devices. Made by copy_node() and copy_2d_node().
///
/// Throws UsageError for an empty copy and for pageable memory. The host could not know when it may
/// change pageable memory again: use pinned().
class CopyNode : public NodeOf<CopyNode> {
public:
    /// Refers to a node of a graph. Throws UsageError if it is not a copy.
    explicit CopyNode(const GraphNode& node, Where where = {})
        : NodeOf(detail::check_kind(node, NodeKind::copy, where)) {}
    /// Sets other memory on the same devices, from the next launch on.
    template <detail::Destination To, detail::Source From>
    CopyNode& between(To&& to, const From& from, Where where = {}) {
        detail::set_copy(data(), detail::region(detail::as_destination(to, "copy_node", where)),
                         detail::region(detail::as_source(from, "copy_node", where)), where);
        return *this;
    }

private:
    friend detail::Access;
    CopyNode(const detail::Region& to, const detail::Region& from, Where where)
        : NodeOf(detail::new_node(NodeKind::copy, detail::device_of(to, &from, where), where)) {
        detail::set_copy(data(), to, from, where);
    }
};
/// Makes a node that copies all elements of `from` to `to`. Its device is the one that copy() would
/// choose. Throws UsageError for different sizes, overlaps, and what CopyNode refuses.
template <detail::Destination To, detail::Source From>
CopyNode copy_node(To&& to, const From& from, Where where = {}) {
    const auto destination = detail::as_destination(to, "copy_node", where);
    const auto source = detail::as_source(from, "copy_node", where);
    static_assert(std::is_same_v<typename decltype(destination)::value_type,
                                 typename decltype(source)::value_type>,
                  "heddle::copy_node: both sides must have the same element type");
    return detail::Access::make<CopyNode>(detail::region(destination), detail::region(source),
                                          where);
}
/// The same for a rectangle, as copy_2d() copies it.
template <class T, detail::SameElement<T> S>
CopyNode copy_2d_node(View2D<T> to, View2D<S> from, Where where = {}) {
    return detail::Access::make<CopyNode>(detail::region(to), detail::region(from), where);
}

/// A node that fills an array, view or pinned memory with one value. Made by fill_node(). Throws
/// UsageError for an empty fill, pageable memory, and memory of another device.
class FillNode : public NodeOf<FillNode> {
public:
    /// Refers to a node of a graph. Throws UsageError if it is not a fill.
    explicit FillNode(const GraphNode& node, Where where = {})
        : NodeOf(detail::check_kind(node, NodeKind::fill, where)) {}
    /// Sets memory of the same device and a value, from the next launch on.
    template <detail::Destination To>
    FillNode& with(
        To&& to,
        const typename decltype(detail::as_destination(std::declval<To&>()))::value_type& value,
        Where where = {}) {
        detail::set_fill(data(), detail::region(detail::as_destination(to, "fill_node", where)),
                         &value, sizeof value, where);
        return *this;
    }

private:
    friend detail::Access;
    FillNode(const detail::Region& to, const void* value, std::size_t size, Where where)
        : NodeOf(detail::new_node(NodeKind::fill, detail::device_of(to, nullptr, where), where)) {
        detail::set_fill(data(), to, value, size, where);
    }
};
/// Makes a node that sets every element of `to` to `value`.
template <detail::Destination To>
FillNode fill_node(
    To&& to,
    const typename decltype(detail::as_destination(std::declval<To&>()))::value_type& value,
    Where where = {}) {
    return detail::Access::make<FillNode>(
        detail::region(detail::as_destination(to, "fill_node", where)), &value, sizeof value,
        where);
}
/// The same for the elements of a rectangle.
template <class T>
    requires(!std::is_const_v<T>)
FillNode fill_node(const View2D<T>& to, const std::type_identity_t<T>& value, Where where = {}) {
    return detail::Access::make<FillNode>(detail::region(to), &value, sizeof value, where);
}

/// A node that calls a host function once in every launch, on any thread, under the rules of
/// launch_host(). Made by host_node().
class HostNode : public NodeOf<HostNode> {
public:
    /// Refers to a node of a graph. Throws UsageError if it is not a host function.
    explicit HostNode(const GraphNode& node, Where where = {})
        : NodeOf(detail::check_kind(node, NodeKind::host_function, where)) {}
    /// Sets the function, from the next launch on.
    template <detail::HostCallable F> HostNode& call(F&& function, Where where = {}) {
        set(std::forward<F>(function), {}, where);
        return *this;
    }
    /// The same for a function that says what it uses, with reads() and writes().
    template <detail::HostCallable F, std::same_as<DeclaredAccess>... A>
    HostNode& call(F&& function, const DeclaredAccess& first, const A&... more) {
        const detail::MemoryArgument memory[] = {first.memory(), more.memory()...};
        set(std::forward<F>(function), memory, first.where());
        return *this;
    }

private:
    friend detail::Access;
    template <detail::HostCallable F>
    HostNode(F&& function, Device device, std::span<const detail::MemoryArgument> memory,
             Where where)
        : NodeOf(detail::new_node(NodeKind::host_function, device, where)) {
        set(std::forward<F>(function), memory, where);
    }
    template <class F>
    void set(F&& function, std::span<const detail::MemoryArgument> memory, Where where) try {
        detail::HostFunction<std::decay_t<F>> closure{std::forward<F>(function)};
        detail::set_host_function(data(), detail::host_work_type<std::decay_t<F>>, &closure, memory,
                                  where);
    } catch (...) {
        detail::rethrow_as_error("host_node", where);
    }
};
/// Makes a node that calls `f`. `device` (default: the current one) is the device of its graph.
template <detail::HostCallable F> HostNode host_node(Device device, F&& f, Where where = {}) {
    return detail::Access::make<HostNode>(std::forward<F>(f), device,
                                          std::span<const detail::MemoryArgument>(), where);
}
template <detail::HostCallable F> HostNode host_node(F&& f, Where where = {}) {
    return host_node(current_device(), std::forward<F>(f), where);
}
/// The same for a function that says which arrays and views it uses, as for launch_host():
///
///     auto check = host_node([v = result.view()] { use(v[0]); }, reads(result)).after(store);
template <detail::HostCallable F, std::same_as<DeclaredAccess>... A>
HostNode host_node(Device device, F&& f, const DeclaredAccess& first, const A&... more) {
    const detail::MemoryArgument memory[] = {first.memory(), more.memory()...};
    return detail::Access::make<HostNode>(
        std::forward<F>(f), device, std::span<const detail::MemoryArgument>(memory), first.where());
}
template <detail::HostCallable F, std::same_as<DeclaredAccess>... A>
HostNode host_node(F&& f, const DeclaredAccess& first, const A&... more) {
    return host_node(current_device(), std::forward<F>(f), first, more...);
}

/// A node that does nothing. Put between two sets of nodes, it orders one after the other with
/// fewer edges.
class EmptyNode : public NodeOf<EmptyNode> {
private:
    friend detail::Access;
    EmptyNode(Device device, Where where)
        : NodeOf(detail::new_node(NodeKind::empty, device, where)) {}
};
/// Makes a node that does nothing, in a graph of `device` (default: the current one).
inline EmptyNode empty_node(Device device = Device(), Where where = {}) {
    return detail::Access::make<EmptyNode>(device, where);
}

/// A node that records an event, or waits for one, in every launch. Made by record_node() and
/// wait_node(). It orders graphs on different streams.
///
/// A launch waits for the newest record made before it was enqueued. The event is of the graph's
/// device, and must be alive at every launch.
class EventNode : public NodeOf<EventNode> {
private:
    friend detail::Access;
    EventNode(NodeKind kind, const Event& event, Where where)
        : NodeOf(detail::new_node(kind, event.device(where), where)) {
        detail::set_event(data(), event, where);
    }
};
/// Makes a node that records `event` in every launch.
inline EventNode record_node(Event& event, Where where = {}) {
    return detail::Access::make<EventNode>(NodeKind::record_event, event, where);
}
/// Makes a node that waits for `event` in every launch.
inline EventNode wait_node(const Event& event, Where where = {}) {
    return detail::Access::make<EventNode>(NodeKind::wait_event, event, where);
}

/// A node that runs another graph, copied when the node is made. Made by child_node().
class ChildNode : public NodeOf<ChildNode> {
private:
    friend detail::Access;
    ChildNode(const Graph& graph, Where where)
        : NodeOf(detail::new_node(NodeKind::child_graph, graph.device(), where)) {
        detail::set_child(data(), graph, where);
    }
};
/// Makes a node that runs a copy of `graph`.
inline ChildNode child_node(const Graph& graph, Where where = {}) {
    return detail::Access::make<ChildNode>(graph, where);
}

}  // namespace heddle
