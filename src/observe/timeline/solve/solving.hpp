// The data and functions that are shared by the parts of solve().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "timeline/solve/ops_by_id.hpp"
#include "timeline/solve/solution.hpp"
#include "timeline/solve/trace_parts.hpp"

namespace heddle::detail {

/// The times at which an operation ran.
struct Ran {
    Moment start = unknown_moment, end = unknown_moment;
    bool start_is_deduced = false;
};

/// One run of a node of a launched graph. It has a start, an end that is not earlier, and a bar.
struct NodeRun {
    TraceIndex op = 0;   ///< the graph launch
    TraceIndex run = 0;  ///< index in Trace::node_runs
};

/// Returns the runs of nodes by launch, and then by start. Leaves out runs with unknown times, or
/// of an unknown launch.
std::vector<NodeRun> find_node_runs(const Trace& trace);

/// Returns the measured times of each operation. A launched graph extends from the first to the
/// last run of its nodes. If an operation has started but has no measured end, its end stays
/// unknown.
std::vector<Ran> measured_times(const Trace& trace, const std::vector<NodeRun>& nodes);

/// The operations that the solution uses, by stream: work that has times, waits and records.
class StreamOrder {
public:
    StreamOrder(const Trace& trace, const std::vector<Ran>& ran);

    /// Returns the stream's operations, as indices in Trace::ops.
    std::span<const TraceIndex> of(TraceIndex stream) const noexcept {
        return {ops_.data() + first_[stream], first_[stream + 1] - first_[stream]};
    }
    /// Returns the index of the stream's first operation in the list of all streams' operations.
    std::size_t first(TraceIndex stream) const noexcept { return first_[stream]; }
    /// Returns the number of the stream's operations at or before this position.
    std::size_t covered(TraceIndex stream, std::uint64_t position) const noexcept;
    TraceIndex streams() const noexcept { return static_cast<TraceIndex>(first_.size() - 1); }
    std::size_t size() const noexcept { return ops_.size(); }

private:
    void sort(TraceIndex stream, const Trace& trace);

    std::vector<TraceIndex> ops_;
    std::vector<std::uint64_t> positions_;  ///< the position of each of these operations
    /// By stream: index of its first operation; then the total.
    std::vector<std::size_t> first_;
};

/// The dependencies of an operation, except for the call that enqueued it.
struct Needs {
    TraceIndex before = no_index;  ///< the previous operation on its stream
    /// Between `before` and the operation: the wait that was satisfied last.
    TraceIndex wait = no_index;
    /// Between `before` and the operation: a wait for work that the recording does not contain.
    TraceIndex unseen = no_index;
};

/// A trace, and everything deduced from it so far.
struct Solving {
    /// Deduces everything that is needed to make bars, arrows and gaps.
    explicit Solving(const Trace& trace);

    /// Returns the end of an operation. If it is unknown, returns unknown_moment, which is less
    /// than any other moment.
    Moment end_of(TraceIndex op) const noexcept {
        return op < ran.size() ? ran[op].end : unknown_moment;
    }
    /// Returns the moment until which the host held up an operation: the return of the call that
    /// enqueued the operation, or the begin of a wait for the operation within that call. May be
    /// unknown.
    Moment enqueued(TraceIndex op) const noexcept {
        const TraceOp& described = trace.ops[op];
        const Moment called = std::max(sane(described.call_begin), sane(described.call_end));
        const auto found = waited_within.find(op);
        return found != waited_within.end() ? std::min(found->second, called) : called;
    }
    /// Returns the target of a wait, the operation that it waited for. Returns no_index if unknown.
    TraceIndex target_of(TraceIndex wait) const noexcept {
        return wait < targets.size() ? targets[wait] : no_index;
    }

    const Trace& trace;
    const OpsById host_functions;
    std::vector<NodeRun> nodes;
    std::vector<Ran> ran;  ///< by operation: when it ran
    StreamOrder order;
    /// By operation: for a wait, the operation that it waited for.
    std::vector<TraceIndex> targets;
    /// For an operation whose own call waited for it: the begin of that wait.
    std::unordered_map<TraceIndex, Moment> waited_within;
    std::vector<Needs> needs;   ///< by operation that ran: its dependencies
    Moment begin = 0, end = 0;  ///< begin and end of the whole picture
};

/// Fills `targets` and `needs`.
void follow_waits(Solving& solving);
/// Fills in missing times. Assigns an end to each operation that has none. A missing start becomes
/// the latest end of the dependencies, but not later than the operation's own end.
void fill_times(Solving& solving);

std::vector<Bar> make_bars(const Solving& solving);
std::vector<Arrow> make_arrows(const Solving& solving);
/// Fills `solution.gaps` and `solution.rows`. Needs `solution.bars`.
void make_gaps(const Solving& solving, Solution& solution);
std::vector<CriticalStep> critical_path(const Solving& solving);

}  // namespace heddle::detail
