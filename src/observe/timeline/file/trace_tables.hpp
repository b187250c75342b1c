// The columns of a trace's tables, named once for TableWriter, TableReader and RowValues. The order
// of a row's columns never changes; new ones are appended.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "timeline/file/trace_columns.hpp"
#include "timeline/trace.hpp"

namespace heddle::detail {

/// A reference to a T. A const T is being written; a T that is not const is being read.
template <class Type, class T>
concept RowOf = std::same_as<std::remove_const_t<Type>, T>;

void name_columns(auto& row, RowOf<TraceDevice> auto& device) {
    row.number(device.name);
    row.number(device.is_cuda);
    row.near(device.index, 0);
    row.number(device.clock);
    row.near(device.clock_error, 0);
    row.near(device.processors, 1);
}

void name_columns(auto& row, RowOf<TraceStream> auto& stream) {
    row.number(stream.id);
    row.number(stream.device);
    row.near(stream.priority, 0);
    row.number(stream.name);
}

void name_columns(auto& row, RowOf<TraceThread> auto& thread) { row.number(thread.name); }

void name_columns(auto& row, RowOf<TraceAccess> auto& access) {
    row.number(access.data);
    row.number(access.bytes);
    row.number(access.allocation);
    row.number(access.pitch);
    row.near(access.rows, 1);
    row.number(access.element);
    row.number(access.mode);
    row.near(access.argument, to_bits(std::int8_t{-1}));
    row.number(access.name);
}

/// The column with at least one byte for each operation. The first column is unsuitable: it has the
/// index of the row of repeated columns, and takes no space in loops that repeat exactly.
inline constexpr std::size_t full_column_of_ops = 1;

/// Names the columns that most operations share with others, because loops repeat the same calls.
void name_repeated_columns(auto& row, RowOf<TraceOp> auto& op) {
    row.number(op.kind);
    row.number(op.mode);
    row.number(op.reason);
    row.number(op.name);
    row.number(op.file);
    row.number(op.line);
    row.index(op.thread);
    row.index(op.stream);
    row.index(op.device);
    row.number(op.bytes);
    row.index(op.other);
    row.index(op.graph);
    row.number(op.share);
    row.number(op.shares);
    row.number(op.accesses);
}

/// Predicts the columns of the next operation from the previous ones. Accepts indices out of range.
class OpHistory {
public:
    struct OfStream {
        std::uint64_t position = 0;
        Moment end = 0;  ///< the end of the previous operation
    };

    OpHistory(std::size_t streams, std::size_t threads)
        : streams_(streams + 1), calls_(threads + 1) {}
    OfStream& stream(TraceIndex index) {
        return streams_[std::min<std::size_t>(index, streams_.size() - 1)];
    }
    /// Returns the end of the thread's last call.
    Moment& call_end(TraceIndex thread) {
        return calls_[std::min<std::size_t>(thread, calls_.size() - 1)];
    }
    void add(const TraceOp& op) {
        OfStream& own = stream(op.stream);
        own.position = op.position;
        if (op.end != unknown_moment) own.end = op.end;
        if (op.call_end != unknown_moment) call_end(op.thread) = op.call_end;
        id = op.id;
        accesses = op.first_access + op.accesses;
        if (op.event != 0) event = op.event, generation = op.generation;
        if (op.recording != 0) recording = op.recording;
        if (op.parent != 0) parent = op.parent;
        if (op.collective != 0) collective = op.collective;
    }

    std::uint64_t id = 0, event = 0, recording = 0, parent = 0, collective = 0;
    std::uint32_t generation = 0, accesses = 0;

private:
    std::vector<OfStream> streams_;
    std::vector<Moment> calls_;
};

/// Names the columns that are not repeated. The repeated columns of `op` must have been read
/// already.
void name_own_columns(auto& row, RowOf<TraceOp> auto& op, OpHistory& before) {
    const OpHistory::OfStream own = before.stream(op.stream);
    const Moment last_call = before.call_end(op.thread);
    row.near_unless(op.call_begin, unknown_moment, to_bits(last_call));
    row.near_unless(op.call_end, unknown_moment, to_bits(std::max(last_call, op.call_begin)));
    const Moment ready = std::max(own.end, op.call_begin);
    row.near_unless(op.start, unknown_moment, to_bits(ready));
    row.near_unless(op.end, unknown_moment, to_bits(std::max(ready, op.start)));
    row.near(op.id, before.id + 1);
    row.near(op.position, own.position + 1);
    row.near_unless(op.other_position, 0, before.stream(op.other).position);
    row.near_unless(op.event, 0, before.event);
    row.near_unless(op.generation, 0, before.generation);
    row.near_unless(op.recording, 0, before.recording);
    row.near_unless(op.parent, 0, before.parent);
    row.near_unless(op.collective, 0, before.collective);
    row.number(op.workers);
    if (op.accesses != 0) row.near(op.first_access, before.accesses);
    else row.near_unless(op.first_access, 0, before.accesses);
    row.number(op.holds_pointers);
    row.number(op.result);
    before.add(op);
}

/// `after` is the number of direct predecessors of the node.
void name_columns(auto& row, RowOf<TraceNode> auto& node, auto&& after) {
    row.number(node.name);
    row.number(node.file);
    row.number(node.line);
    row.number(node.kind);
    row.number(node.first_access);
    row.number(node.accesses);
    row.number(after);
    row.index(node.inside);
    row.number(node.alternative);
    row.number(node.accesses_known);
}

void name_columns(auto& row, RowOf<TraceGraph> auto& graph, auto&& nodes) {
    row.number(graph.id);
    row.number(graph.is_batch);
    row.number(nodes);
}

void name_columns(auto& row, RowOf<TraceNodeRun> auto& run, const TraceNodeRun& before) {
    const Moment ready = std::max(before.end, Moment{0});
    row.near_unless(run.start, unknown_moment, to_bits(ready));
    row.near_unless(run.end, unknown_moment, to_bits(std::max(ready, run.start)));
    row.near(run.launch, before.launch);
    row.near(run.node, std::uint64_t{before.node} + 1);
}

void name_columns(auto& row, RowOf<TraceRange> auto& range, const TraceRange& before) {
    row.near(range.begin, to_bits(before.end));
    row.near(range.end, to_bits(range.begin));
    row.number(range.thread);
    row.number(range.name);
}

/// Names the columns of the values that exist once in a trace.
void name_columns(auto& row, RowOf<Trace> auto& trace) {
    row.near(trace.base_ns, 0);
    row.near(trace.base_realtime_ns, 0);
    row.near(trace.begin, 0);
    row.near(trace.end, 0);
    row.number(trace.lost_ops);
}

}  // namespace heddle::detail
