// Nodes: work of a graph, made before there is one.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <heddle/copy.hpp>
#include <heddle/detail/graph_work.hpp>
#include <heddle/graph.hpp>
#include <heddle/launch.hpp>

namespace heddle {

/// What all kinds of nodes have; `Self` is the kind. All setters may be called again, in a graph too, for its next launch; only dependencies
/// and the device are settled when the graph is built.
template <class Self> class NodeOf : public Node {
public:
    /// This node comes after those.
    template <std::derived_from<Node>... Nodes> Self& after(const Nodes&... first) {
        (add_dependency(first, SourceLocation()), ...);
        return self();
    }
    using Node::name;
    /// Shows in errors and in Graph::dot(), and finds it: Graph::node().
    Self& name(std::string text) {
        set_name(std::move(text));
        return self();
    }

protected:
    using Node::Node;
    explicit NodeOf(const Node& node) : Node(node) {}
    Self& self() noexcept { return static_cast<Self&>(*this); }
};

namespace detail {
std::shared_ptr<NodeData> new_node(NodeKind kind, Device device, SourceLocation where);
void set_work(NodeData& node, Work work, const SourceLocation& where);
/// The same for work that differs in one argument only, whose memory is `fresh` (or none of an array): the other arrays are still meant as
/// the allocations that they were when they were given.
void change_argument(NodeData& node, Work work, const Block* fresh, const SourceLocation& where);
void resize_work(NodeData& node, const std::size_t* extent, std::size_t count, const LaunchOptions& options,
                 const SourceLocation& where);  ///< nothing while it has no arguments
void set_copy(NodeData& node, const Region& to, const Region& from, const SourceLocation& where);
void set_fill(NodeData& node, const Region& to, const void* value, std::size_t size,
              const SourceLocation& where);
/// What the node has now; false, and nothing, while it has no arguments.
bool read_extents(const NodeData& node, std::size_t* extent, LaunchOptions& options);
void make_dependent(NodeData& node, const Node& first, const SourceLocation& where);
/// Clamps it to the device's range. Unsupported in a CUDA graph that is instantiated.
void set_priority(NodeData& node, int priority, const SourceLocation& where);
void set_event(NodeData& node, const Event& event, const SourceLocation& where);
StreamState& any_stream(Device device);
void set_child(NodeData& node, const Graph& graph, const SourceLocation& where);
/// Throws UsageError where a node is of another kind.
const Node& check_kind(const Node& node, NodeKind kind, const SourceLocation& where);
/// The closure of a kernel node and its extents; UsageError where it is another kernel (see kernel_tag).
const void* closure_of(const Node& node, const void* tag, std::size_t* extent, const SourceLocation& where);
/// Where a copy or a fill runs if nobody says, as with copy() and fill(). `from` is null for fills.
Device device_of(const Region& to, const Region* from);
/// Throws what launch() would on a stream of this device.
template <class A> void check_node_argument(A& a, Device device, const SourceLocation& where) {
    if constexpr (ViewTraits<KernelArg<A>>::is_view)
        check_reach(kernel_argument(a).owner(), any_stream(device), where);
    check_not_empty(a, where);
}
template <class A> void add_block(std::vector<Block*>& blocks, A& a) {
    if constexpr (ViewTraits<KernelArg<A>>::is_view)
        if (Block* block = kernel_argument(a).owner()) blocks.push_back(block);
}
}  // namespace detail

inline namespace HEDDLE_COMPILED_BY {

template <class K, int N, class... P> class PreparedLaunch;

/// A portable kernel as a node.
template <class K, int N> class KernelNode : public NodeOf<KernelNode<K, N>> {
public:
    KernelNode(const K& kernel, const Dim<N>& d, Device device)
        : NodeOf<KernelNode>(detail::new_node(NodeKind::kernel, device, d.where)), dim_(d), kernel_(kernel) {
        static_assert(detail::is_portable_kernel<K>,
                      "heddle::kernel_node: the kernel is copied to the device as bytes, so it (and what a "
                      "lambda captures) must be trivially copyable");
        if constexpr (detail::takes_arguments<K, N>) args();
    }
    /// A node of a graph, found by its name or captured, as what it is, so that it can be changed:
    /// `KernelNode<Scale, 1> scale(graph.node("scale"))`. UsageError if it is not this kernel with so many indices.
    explicit KernelNode(const Node& node, SourceLocation where = SourceLocation::current())
        : NodeOf<KernelNode>(node), dim_{{}, where, {}},
          kernel_(*static_cast<const K*>(
              detail::closure_of(node, &detail::kernel_tag<K, N>, dim_.extent, where))) {}

    /// The arguments after the indices, checked when compiling as those of launch(). They may be given and changed later.
    template <class... A> KernelNode& args(A&&... arguments) {
        static_assert((detail::is_kernel_argument<A> && ...),
                      "heddle::kernel_node: arguments are arrays, views and trivially copyable values");
        static_assert(detail::takes_arguments<K, N, detail::KernelArg<A>...>,
                      "heddle::kernel_node: the kernel cannot be called with as many indices as dim() has, "
                      "followed by these arguments (is its operator() const?)");
        (detail::check_node_argument(arguments, this->device(), dim_.where), ...);
        give(detail::kernel_argument(arguments)...);
        return *this;
    }
    /// Runs it as many times as this from the next launch on.
    KernelNode& dim(const Dim<N>& d) {
        dim_ = d;
        detail::resize_work(this->data(), d.extent, detail::count_of(d.extent, N, d.where), d.how.options,
                            d.where);
        return *this;
    }
    /// Comes after those kernels, but may start before they have finished: a dependent launch (heddle/dependent_launch.hpp) as an edge.
    template <std::derived_from<Node>... Nodes> KernelNode& dependent_on(const Nodes&... first) {
        static_assert(
            requires { requires static_cast<bool>(K::waits_for_primary); },
            "heddle::kernel_node: a kernel that depends on another one's memory has to wait for it: call "
            "wait_for_primary() in it, and say so with `static constexpr bool waits_for_primary = true;`");
        this->after(first...);
        (detail::make_dependent(this->data(), first, SourceLocation()), ...);
        return *this;
    }
    /// Among the kernels of its graph that could run, the more urgent (smaller, as those of streams) runs first; 0 if not given, and in captures the
    /// priority of the stream. The same as LaunchOptions::priority. On CUDA the nodes' priorities then stand in for the stream's, and cannot
    /// be changed in a graph that is instantiated.
    KernelNode& priority(int value, SourceLocation where = SourceLocation::current()) {
        detail::set_priority(this->data(), value, where);
        return *this;
    }

private:
    template <class, int, class...> friend class PreparedLaunch;

    template <class... P> void give(const P&... values) try {
        detail::set_work(this->data(), work_of(values...), dim_.where);
    } catch (...) {
        detail::rethrow_as_error("args", dim_.where);
    }
    template <class... P> void give_changed(const detail::Block* fresh, const P&... values) try {
        detail::change_argument(this->data(), work_of(values...), fresh, dim_.where);
    } catch (...) {
        detail::rethrow_as_error("args", dim_.where);
    }
    template <class... P> detail::Work work_of(const P&... values) {
        using Operation = detail::PortableOp<K, N, P...>;
        dim_.how.given |= detail::read_extents(this->data(), dim_.extent,
                                               dim_.how.options);  // another handle may have changed them
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

/// A node that runs a portable kernel on `device` (default: the current one). Arguments may be left out, and given by args().
template <class K, int N, class... A>
    requires(std::is_class_v<K>)
KernelNode<K, N> kernel_node(Device device, const K& kernel, const Dim<N>& d, A&&... args) {
    KernelNode<K, N> node(kernel, d, device);
    if constexpr (sizeof...(A) > 0) node.args(std::forward<A>(args)...);
    return node;
}
template <class K, int N, class... A>
    requires(std::is_class_v<K> && !std::is_same_v<K, Device>)
KernelNode<K, N> kernel_node(const K& kernel, const Dim<N>& d, A&&... args) {
    return kernel_node(current_device(), kernel, d, std::forward<A>(args)...);
}

}  // namespace HEDDLE_COMPILED_BY

/// A copy as a node, of arrays, views and pinned memory; on one device, or between host and device, or between two devices. Pageable
/// memory is refused: it would have to stay as it is until nobody knows when.
class CopyNode : public NodeOf<CopyNode> {
public:
    CopyNode(const detail::Region& to, const detail::Region& from, SourceLocation where)
        : NodeOf(detail::new_node(NodeKind::copy, detail::device_of(to, &from), where)) {
        detail::set_copy(data(), to, from, where);
    }
    /// A node of a graph as what it is; UsageError if it is no copy.
    explicit CopyNode(const Node& node, SourceLocation where = SourceLocation::current())
        : NodeOf(detail::check_kind(node, NodeKind::copy, where)) {}
    /// Other memory, on the same devices, from the next launch on.
    template <detail::Destination To, detail::Source From>
    CopyNode& between(To&& to, const From& from, SourceLocation where = SourceLocation::current()) {
        detail::set_copy(data(), detail::region(detail::as_destination(to, where)),
                         detail::region(detail::as_source(from, where)), where);
        return *this;
    }
};
template <detail::Destination To, detail::Source From>
CopyNode copy_node(To&& to, const From& from, SourceLocation where = SourceLocation::current()) {
    const auto destination = detail::as_destination(to, where);
    const auto source = detail::as_source(from, where);
    static_assert(
        std::is_same_v<typename decltype(destination)::value_type, typename decltype(source)::value_type>,
        "heddle::copy_node: both sides must have the same element type");
    return {detail::region(destination), detail::region(source), where};
}
template <class T, class S>
    requires std::is_same_v<T, std::remove_const_t<S>> CopyNode
    copy_2d_node(View2D<T> to, View2D<S> from, SourceLocation where = SourceLocation::current()) {
        return {detail::region(to), detail::region(from), where};
    }

/// A fill as a node.
class FillNode : public NodeOf<FillNode> {
public:
    FillNode(const detail::Region& to, const void* value, std::size_t size, SourceLocation where)
        : NodeOf(detail::new_node(NodeKind::fill, detail::device_of(to, nullptr), where)) {
        detail::set_fill(data(), to, value, size, where);
    }
    /// A node of a graph as what it is; UsageError if it is no fill.
    explicit FillNode(const Node& node, SourceLocation where = SourceLocation::current())
        : NodeOf(detail::check_kind(node, NodeKind::fill, where)) {}
    /// Other memory of the same device, or another value, from the next launch on.
    template <detail::Destination To>
    FillNode& with(To&& to,
                   const typename decltype(detail::as_destination(std::declval<To&>()))::value_type& value,
                   SourceLocation where = SourceLocation::current()) {
        detail::set_fill(data(), detail::region(detail::as_destination(to, where)), &value, sizeof value,
                         where);
        return *this;
    }
};
template <detail::Destination To>
FillNode fill_node(To&& to,
                   const typename decltype(detail::as_destination(std::declval<To&>()))::value_type& value,
                   SourceLocation where = SourceLocation::current()) {
    return {detail::region(detail::as_destination(to, where)), &value, sizeof value, where};
}

/// A host function as a node: called once in every launch, by any thread, with the rules of launch_host().
class HostNode : public NodeOf<HostNode> {
public:
    template <class F>
        requires std::invocable < std::decay_t<F>
    & > HostNode(F&& function, Device device, SourceLocation where)
        : NodeOf(detail::new_node(NodeKind::host_function, device, where)) {
        call(std::forward<F>(function), where);
    }
    /// A node of a graph as what it is; UsageError if it is no host function.
    explicit HostNode(const Node& node, SourceLocation where = SourceLocation::current())
        : NodeOf(detail::check_kind(node, NodeKind::host_function, where)) {}
    /// Another function, from the next launch on.
    template <class F>
        requires std::invocable < std::decay_t<F>
    & > HostNode& call(F&& function, SourceLocation where = SourceLocation::current()) try {
        using Operation = detail::HostFunction<std::decay_t<F>>;
        detail::Work work;
        work.type = &detail::host_work_type<std::decay_t<F>>;
        work.closure = std::make_shared<Operation>(Operation{std::forward<F>(function)});
        detail::set_work(data(), std::move(work), where);
        return *this;
    } catch (...) {
        detail::rethrow_as_error("host_node", where);
    }
};
/// `device` (default: the current one) is the one whose graph it will be part of.
template <class F>
HostNode host_node(Device device, F&& f, SourceLocation where = SourceLocation::current()) {
    return HostNode(std::forward<F>(f), device, where);
}
template <class F>
    requires(!std::is_same_v<std::decay_t<F>, Device>)
HostNode host_node(F&& f, SourceLocation where = SourceLocation::current()) {
    return HostNode(std::forward<F>(f), current_device(), where);
}

/// Does nothing: several nodes come after several others with fewer edges.
class EmptyNode : public NodeOf<EmptyNode> {
public:
    EmptyNode(Device device, SourceLocation where)
        : NodeOf(detail::new_node(NodeKind::empty, device, where)) {}
};
inline EmptyNode empty_node(Device device = Device(), SourceLocation where = SourceLocation::current()) {
    return {device, where};
}

/// Records an event, or waits for one, in every launch. The event is of the graph's device and has to live as long as the graph is launched;
/// so two graphs, on two streams, come one after the other. A launch waits for the record that is newest when it is launched.
class EventNode : public NodeOf<EventNode> {
public:
    EventNode(NodeKind kind, const Event& event, SourceLocation where)
        : NodeOf(detail::new_node(kind, event.device(where), where)) {
        detail::set_event(data(), event, where);
    }
};
inline EventNode record_node(Event& event, SourceLocation where = SourceLocation::current()) {
    return {NodeKind::record_event, event, where};
}
inline EventNode wait_node(const Event& event, SourceLocation where = SourceLocation::current()) {
    return {NodeKind::wait_event, event, where};
}

/// A graph inside of another: a copy of it as it is now.
class ChildNode : public NodeOf<ChildNode> {
public:
    ChildNode(const Graph& graph, SourceLocation where)
        : NodeOf(detail::new_node(NodeKind::child_graph, graph.device(), where)) {
        detail::set_child(data(), graph, where);
    }
};
inline ChildNode child_node(const Graph& graph, SourceLocation where = SourceLocation::current()) {
    return {graph, where};
}

}  // namespace heddle
