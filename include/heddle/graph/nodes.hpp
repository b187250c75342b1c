// Nodes that copy, fill, only order, record or wait for an event, or run another graph.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <heddle/graph/graph.hpp>
#include <heddle/graph/kernel_nodes.hpp>
#include <heddle/graph/node_of.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/operation/host_access.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
void set_copy(NodeData& node, const Region& to, const Region& from, const SourceLocation& where);
void set_fill(NodeData& node, const Region& to, const void* value, std::size_t size,
              const SourceLocation& where);
void set_event(NodeData& node, const Event& event, const SourceLocation& where);
void set_child(NodeData& node, const Graph& graph, const SourceLocation& where);
/// Returns the device on which a copy or a fill runs by default: the one that copy() or fill()
/// chooses. `from` is null for fills.
Device device_of(const Region& to, const Region* from, const SourceLocation& where);
}  // namespace detail

/// A node that copies between arrays, views and pinned memory, on or between devices and the host.
/// Made by copy_node() and copy_2d_node(): `copy_node(y, x).after(start)`.
///
/// Copying no elements has no effect. Errors: copy_node() and between() throw UsageError for
/// pageable memory, because the host could not know when it may change that memory again. Use
/// pinned(). Lifetime and threads: see GraphNode.
class CopyNode : public NodeOf<CopyNode> {
public:
    /// Refers to a node of a graph. Throws UsageError if it is not a copy.
    explicit CopyNode(const GraphNode& node, Where where = {})
        : NodeOf(detail::check_kind(node, NodeKind::copy, where)) {}
    /// Replaces the memory by other memory on the same devices, from the next launch on.
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
/// Makes a node that copies all elements of `from` to `to`, on the device that copy() would choose.
/// Throws UsageError for different sizes, overlaps and pageable memory.
template <detail::Destination To, detail::Source From>
CopyNode copy_node(To&& to, const From& from, Where where = {}) {
    const auto destination = detail::as_destination(to, "copy_node", where);
    const auto source = detail::as_source(from, "copy_node", where);
    static_assert(
        std::is_same_v<typename decltype(destination)::value_type,
                       typename decltype(source)::value_type>,
        "heddle::copy_node: the destination and the source must have the same element type");
    return detail::Access::make<CopyNode>(detail::region(destination), detail::region(source),
                                          where);
}
/// Makes a node that copies a rectangle, as copy_2d() does.
template <class T, detail::SameElement<T> S>
CopyNode copy_2d_node(View2D<T> to, View2D<S> from, Where where = {}) {
    return detail::Access::make<CopyNode>(detail::region(to), detail::region(from), where);
}

/// A node that fills an array, view or pinned memory with one value. Made by fill_node():
/// `fill_node(x, 1.0f).after(start)`.
///
/// Filling no elements has no effect. Errors: fill_node() and with() throw UsageError for pageable
/// memory, and with() for memory of another device. Lifetime and threads: see GraphNode.
class FillNode : public NodeOf<FillNode> {
public:
    /// Refers to a node of a graph. Throws UsageError if it is not a fill.
    explicit FillNode(const GraphNode& node, Where where = {})
        : NodeOf(detail::check_kind(node, NodeKind::fill, where)) {}
    /// Replaces the memory by other memory of the same device, and the value, from the next launch
    /// on.
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
/// Makes a node that sets every element of a rectangle to `value`.
template <class T>
    requires(!std::is_const_v<T>)
FillNode fill_node(const View2D<T>& to, const std::type_identity_t<T>& value, Where where = {}) {
    return detail::Access::make<FillNode>(detail::region(to), &value, sizeof value, where);
}

/// A node that performs no work. Placed between two sets of nodes, it orders one after the other
/// with fewer edges: `empty_node().after(a, b, c)`. Lifetime, errors and threads: see GraphNode.
class EmptyNode : public NodeOf<EmptyNode> {
private:
    friend detail::Access;
    EmptyNode(Device device, Where where)
        : NodeOf(detail::new_node(NodeKind::empty, device, where)) {}
};
/// Makes a node that performs no work, in a graph of `device` (default: the current one).
inline EmptyNode empty_node(Device device = current_device(), Where where = {}) {
    return detail::Access::make<EmptyNode>(device, where);
}

/// A node that records an event, or waits for one, in every launch. Made by record_node() and
/// wait_node(): `wait_node(event).after(start)`. It orders graphs on different streams.
///
/// Order: a launch waits for the newest record made before it was enqueued. The event must belong
/// to the graph's device. Lifetime: the event must exist at every launch. Errors: a launch throws
/// UsageError for an event that was destroyed. Threads: see GraphNode.
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

/// A node that runs a copy of another graph. Made by child_node(): `child_node(graph).after(a)`.
/// The other graph may be destroyed or changed afterwards. Errors: child_node() throws UsageError
/// for an empty handle. Threads: see GraphNode.
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
