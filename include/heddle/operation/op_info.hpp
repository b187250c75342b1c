// Descriptions of operations, as observers receive them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <heddle/memory/range.hpp>
#include <heddle/operation/op_kind.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Memory that an operation accesses.
struct OpAccess : MemoryRange {
    /// Identifies the allocation uniquely; 0 for memory that heddle does not own.
    std::uint64_t allocation = 0;
    /// Bytes of an element; 0 if unknown.
    std::uint32_t element = 0;
    /// How the memory is used.
    AccessMode mode = AccessMode::read;
    /// The index, from 0, of the kernel's argument that holds it. -1 if the kernel object holds it,
    /// or the operation is not a kernel.
    std::int8_t argument = -1;

    /// Returns whether the memory may be written.
    bool writes() const noexcept { return mode != AccessMode::read; }
    bool operator==(const OpAccess&) const = default;
};

/// One record of an event. An event may be recorded many times; a wait targets one of the records.
struct EventPoint {
    /// Identifies the event uniquely; 0 for no event.
    std::uint64_t event = 0;
    /// Counts the records of the event, from 1; 0 if it was never recorded.
    std::uint64_t record = 0;
    bool operator==(const EventPoint&) const = default;
};

/// A node of a launched graph, or an operation of a flushed batch. The nodes of a child graph are
/// listed among those of the graph, and named "child/node". The child graph's own node follows
/// them, and performs no work.
struct OpNode {
    /// An index that refers to no node.
    static constexpr std::uint32_t no_node = ~std::uint32_t{0};

    OpKind kind = OpKind::launch;  ///< kind of the node's operation
    const char* name = "";         ///< the same as GraphNode::name()
    SourceLocation where = {};     ///< where the node was made or captured
    /// Indices of its direct predecessors. A node in a body has predecessors in the same body only.
    std::span<const std::uint32_t> after = {};
    /// For nodes in a body: the index of the conditional node, which precedes them. That node is a
    /// `graph_launch`, and reads its value.
    std::uint32_t inside = no_node;
    /// The index of the body. A pass through a conditional node runs at most one body.
    std::uint32_t alternative = 0;
    /// For nodes of a child graph: the index of the child graph's own node, which follows these
    /// nodes.
    std::uint32_t child = no_node;
    /// The name of the stream whose work was captured as this node; empty if it was not captured.
    const char* captured_on = "";
    /// Its accesses. If no observer was registered when a kernel or host function was set, lists
    /// the entire arrays that it uses.
    std::span<const OpAccess> accesses = {};
    /// Whether `accesses` are exact.
    bool accesses_known = false;
    /// The same as OpInfo::may_signal.
    bool may_signal = false;
    /// For nodes that record or wait for an event: EventPoint::event.
    std::uint64_t event = 0;
};

/// The old name of OpNode.
using GraphNodeInfo [[deprecated("use OpNode")]] = OpNode;

/// The nodes that a graph launch runs. Valid only during the on_op() call.
struct GraphShape {
    /// Identifies the shape uniquely: launches with the same id launch the same nodes.
    std::uint64_t id = 0;
    /// Identifies the graph uniquely. Its launches run one after the other. Changing the graph
    /// changes the id of its shape.
    std::uint64_t graph = 0;
    /// The nodes in topological order. The nodes of a conditional node's bodies follow it directly,
    /// body by body.
    std::span<const OpNode> nodes = {};
};

/// Describes one enqueued operation. Pointers and spans are valid only during the on_op() call.
struct OpInfo {
    /// The kind of the operation.
    OpKind kind = OpKind::launch;
    OpMode mode = OpMode::run;  ///< whether the operation was enqueued or recorded
    /// For waits, records and host waits: the reason for the operation.
    WaitReason reason = WaitReason::user;
    /// Whether the operation may signal other work or the host in a way that heddle cannot see, for
    /// example by a flag in memory. Derived from the types of host functions and kernels, and from
    /// the contents of the kernel object.
    bool may_signal = false;
    /// For kernels: whether the kernel object or its arguments may hold pointers to memory that
    /// `accesses` does not list: addresses, references, views of addresses. For native work:
    /// whether no access is declared.
    bool holds_pointers = false;
    /// The first of those possible pointers.
    std::span<const void* const> pointers = {};
    /// For allocations: whether the memory is from heddle's own cache. heddle then has to order the
    /// new uses after those of the previous allocation.
    bool from_own_cache = false;
    /// The kernel's type or function; for copies "host to device" and the like.
    const char* name = "";
    StreamRef stream = {};  ///< the stream on which it was enqueued, if any
    /// Its position in the stream: unique there, and greater than those of operations described
    /// earlier.
    std::uint64_t position = 0;
    /// Identifies the operation uniquely in this process.
    std::uint64_t id = 0;
    /// When the call began. For a later operation of the same call: when the previous operation
    /// ended. In ns of std::chrono::steady_clock; 0 unless an observer requests times.
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;  ///< when the enqueuing, or the host wait, ended; same clock
    /// The stream's device; for synchronize_device() and allocations, the device of the call.
    Device device = detail::Access::device(DeviceKind::cpu, 0);
    std::size_t bytes = 0;  ///< bytes copied, filled, allocated or freed
    /// For waits and host waits: the stream waited for, if known.
    StreamRef other = {};
    std::uint64_t other_position = 0;  ///< the last position on `other` that the wait covers
    /// For records: the new record. For waits and queries: the record that is waited for or
    /// queried.
    EventPoint event = {};
    /// Identifies the capture or batch that recorded the operation. For a batch's `graph_launch`,
    /// and for `abandon`, identifies the batch. Otherwise 0.
    std::uint64_t recording = 0;
    /// The id of the host function that enqueued this operation, or of the graph launch that
    /// contains that function. 0 if there is none, or if no observer requests times or host
    /// functions.
    std::uint64_t parent = 0;
    /// For graph launches: the nodes launched, or null if unknown.
    const GraphShape* shape = nullptr;
    /// For a collective's operations: identifies the collective. Otherwise 0.
    std::uint64_t collective = 0;
    std::uint32_t share = 0;   ///< the rank whose share of the collective this operation is
    std::uint32_t shares = 0;  ///< the number of shares of the collective
    /// The memory that the operation uses, as declared by its arguments.
    std::span<const OpAccess> accesses = {};
    /// The user's call site.
    SourceLocation where = {};
};

}  // namespace heddle
