// Nodes: the work of a graph, made before the graph.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <heddle/detail/graph_work.hpp>
#include <heddle/graph/graph.hpp>
#include <heddle/launch/dependent_launch.hpp>
#include <heddle/launch/launch.hpp>
#include <heddle/memory/copy.hpp>

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
void set_work(NodeData& node, Work work, const SourceLocation& where);
/// Sets work that differs in one argument only. `fresh` is that argument's memory, or null if it is
/// not an array. The other arrays keep the allocations (serials) noted when they were set.
void change_argument(NodeData& node, Work work, const Block* fresh, const SourceLocation& where);
/// Does nothing while the node has no arguments.
void resize_work(NodeData& node, const std::size_t* extent, std::size_t count,
                 const LaunchOptions& options, const SourceLocation& where);
void set_copy(NodeData& node, const Region& to, const Region& from, const SourceLocation& where);
void set_fill(NodeData& node, const Region& to, const void* value, std::size_t size,
              const SourceLocation& where);
/// Reads the node's present extents and options. Returns false, and leaves both alone, while the
/// node has no arguments.
bool read_extents(const NodeData& node, std::size_t* extent, LaunchOptions& options);
void make_dependent(NodeData& node, const GraphNode& first, const SourceLocation& where);
/// Clamps the priority to the device's range. Throws Unsupported if it changes in an instantiated
/// CUDA graph.
void set_priority(NodeData& node, int priority, const SourceLocation& where);
void set_event(NodeData& node, const Event& event, const SourceLocation& where);
StreamState& any_stream(Device device);
void set_child(NodeData& node, const Graph& graph, const SourceLocation& where);
/// Returns `node`. Throws UsageError if it is of another kind.
const GraphNode& check_kind(const GraphNode& node, NodeKind kind, const SourceLocation& where);
/// Returns the closure of a kernel node, and writes its extents to `extent`. Throws UsageError if
/// it is another kernel (see kernel_tag), or has no arguments yet.
const void* closure_of(const GraphNode& node, const void* tag, std::size_t* extent,
                       const SourceLocation& where);
/// Returns the device on which a copy or a fill runs by default, as copy() and fill() choose it.
/// `from` is null for fills.
Device device_of(const Region& to, const Region* from);
/// Throws what launch() would for this argument on a stream of `device`.
template <class A> void check_node_argument(A& a, Device device, const SourceLocation& where) {
    if constexpr (ViewTraits<KernelArg<A>>::is_view)
        check_reach(Access::block(kernel_argument(a)), any_stream(device), where);
    check_not_empty(a, where);
}
template <class A> void add_block(std::vector<Block*>& blocks, A& a) {
    if constexpr (ViewTraits<KernelArg<A>>::is_view)
        if (Block* block = Access::block(kernel_argument(a))) blocks.push_back(block);
}
}  // namespace detail

inline namespace HEDDLE_COMPILED_BY {

template <class K, int N, class... P> class PreparedLaunch;

/// A node that runs a portable kernel. Made by kernel_node().
template <class K, int N> class KernelNode : public NodeOf<KernelNode<K, N>> {
public:
    /// Refers to a node of a graph, found by name or captured, so that it can be changed:
    /// `KernelNode<Scale, 1> scale(graph.node("scale"))`. Throws UsageError if it is not this
    /// kernel with N indices.
    explicit KernelNode(const GraphNode& node, Where where = {})
        : NodeOf<KernelNode>(node), dim_{{}, where, {}},
          kernel_(*static_cast<const K*>(
              detail::closure_of(node, &detail::kernel_tag<K, N>, dim_.extent, where))) {}

    /// Sets the arguments after the indices, from the next launch on. Their types are checked at
    /// compile time, as those of launch(). Throws UsageError for arrays out of reach.
    template <class... A> KernelNode& args(A&&... arguments) {
        if constexpr (detail::check_kernel<K, N, A...>()) {
            (detail::check_node_argument(arguments, this->device(), dim_.where), ...);
            give(detail::kernel_argument(arguments)...);
        }
        return *this;
    }
    /// Sets the extents and launch options, from the next launch on. Throws Unsupported if options
    /// other than block and shared_bytes change in an instantiated CUDA graph.
    KernelNode& dim(const Dim<N>& d) {
        dim_ = d;
        detail::resize_work(this->data(), d.extent, detail::count_of(d.extent, N, d.where),
                            d.how.options, d.where);
        return *this;
    }
    /// Orders this kernel after those, but lets it start before they have finished: the graph's
    /// form of a dependent launch (heddle/launch/dependent_launch.hpp). Throws UsageError for a
    /// node that is not a kernel of the same device.
    template <std::derived_from<GraphNode>... Nodes>
    KernelNode& dependent_on(const Nodes&... first) {
        static_assert(
            WaitsForPrimary<K>,
            "heddle::kernel_node: a kernel that depends on another one's memory has to "
            "wait for it: call wait_for_primary() in it, and say so with `static constexpr "
            "bool waits_for_primary = true;`");
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
    KernelNode& priority(int value, Where where = {}) {
        detail::set_priority(this->data(), value, where);
        return *this;
    }

private:
    friend detail::Access;
    KernelNode(const K& kernel, const Dim<N>& d, Device device)
        : NodeOf<KernelNode>(detail::new_node(NodeKind::kernel, device, d.where)), dim_(d),
          kernel_(kernel) {
        if constexpr (detail::KernelFor<K, N>) args();
    }
    template <class... P> void give(const P&... values) try {
        detail::set_work(this->data(), work_of(values...), dim_.where);
    } catch (...) {
        detail::rethrow_as_error("args", dim_.where);
    }
    template <class... P> void change_argument(const detail::Block* fresh, const P&... values) try {
        detail::change_argument(this->data(), work_of(values...), fresh, dim_.where);
    } catch (...) {
        detail::rethrow_as_error("args", dim_.where);
    }
    template <class... P> detail::Work work_of(const P&... values) {
        using Operation = detail::PortableOp<K, N, P...>;
        // Another handle may have changed them.
        dim_.how.given |= detail::read_extents(this->data(), dim_.extent, dim_.how.options);
        detail::Work work;
        work.type = &detail::portable_work_type<K, N, P...>;
        work.count = detail::count_of(dim_.extent, N, dim_.where);
        work.closure = std::make_shared<Operation>(kernel_, dim_.extent, values...);
        work.options = dim_.how.options;
        (detail::add_block(work.blocks, values), ...);
        return work;
    }

    Dim<N> dim_;
    K kernel_;
};

/// Makes a node that runs a portable kernel on `device` (default: the current one). Arguments may
/// be left out, and set by args() before build().
template <detail::KernelObject K, int N, class... A>
KernelNode<K, N> kernel_node(Device device, const K& kernel, const Dim<N>& d, A&&... args) {
    auto node = detail::Access::make<KernelNode<K, N>>(kernel, d, device);
    if constexpr (sizeof...(A) > 0) node.args(std::forward<A>(args)...);
    return node;
}
template <detail::KernelObject K, int N, class... A>
KernelNode<K, N> kernel_node(const K& kernel, const Dim<N>& d, A&&... args) {
    return kernel_node(current_device(), kernel, d, std::forward<A>(args)...);
}

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
        detail::set_copy(data(), detail::region(detail::as_destination(to, where)),
                         detail::region(detail::as_source(from, where)), where);
        return *this;
    }

private:
    friend detail::Access;
    CopyNode(const detail::Region& to, const detail::Region& from, Where where)
        : NodeOf(detail::new_node(NodeKind::copy, detail::device_of(to, &from), where)) {
        detail::set_copy(data(), to, from, where);
    }
};
/// Makes a node that copies all elements of `from` to `to`. Its device is the one that copy() would
/// choose. Throws UsageError for different sizes, overlaps, and what CopyNode refuses.
template <detail::Destination To, detail::Source From>
CopyNode copy_node(To&& to, const From& from, Where where = {}) {
    const auto destination = detail::as_destination(to, where);
    const auto source = detail::as_source(from, where);
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
        detail::set_fill(data(), detail::region(detail::as_destination(to, where)), &value,
                         sizeof value, where);
        return *this;
    }

private:
    friend detail::Access;
    FillNode(const detail::Region& to, const void* value, std::size_t size, Where where)
        : NodeOf(detail::new_node(NodeKind::fill, detail::device_of(to, nullptr), where)) {
        detail::set_fill(data(), to, value, size, where);
    }
};
/// Makes a node that sets every element of `to` to `value`.
template <detail::Destination To>
FillNode fill_node(
    To&& to,
    const typename decltype(detail::as_destination(std::declval<To&>()))::value_type& value,
    Where where = {}) {
    return detail::Access::make<FillNode>(detail::region(detail::as_destination(to, where)), &value,
                                          sizeof value, where);
}

/// A node that calls a host function once in every launch, on any thread, under the rules of
/// launch_host(). Made by host_node().
class HostNode : public NodeOf<HostNode> {
public:
    /// Refers to a node of a graph. Throws UsageError if it is not a host function.
    explicit HostNode(const GraphNode& node, Where where = {})
        : NodeOf(detail::check_kind(node, NodeKind::host_function, where)) {}
    /// Sets the function, from the next launch on.
    template <detail::HostCallable F> HostNode& call(F&& function, Where where = {}) try {
        using Operation = detail::HostFunction<std::decay_t<F>>;
        detail::Work work;
        work.type = &detail::host_work_type<std::decay_t<F>>;
        work.closure = std::make_shared<Operation>(Operation{std::forward<F>(function)});
        detail::set_work(data(), std::move(work), where);
        return *this;
    } catch (...) {
        detail::rethrow_as_error("host_node", where);
    }

private:
    friend detail::Access;
    template <detail::HostCallable F>
    HostNode(F&& function, Device device, Where where)
        : NodeOf(detail::new_node(NodeKind::host_function, device, where)) {
        call(std::forward<F>(function), where);
    }
};
/// Makes a node that calls `f`. `device` (default: the current one) is the device of its graph.
template <detail::HostCallable F> HostNode host_node(Device device, F&& f, Where where = {}) {
    return detail::Access::make<HostNode>(std::forward<F>(f), device, where);
}
template <detail::HostCallable F> HostNode host_node(F&& f, Where where = {}) {
    return host_node(current_device(), std::forward<F>(f), where);
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
