// Data and functions that the parts of solve() share.
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

/// A run of a node of a launched graph, with a start, an end that is not before it, and a bar.
struct NodeRun {
    TraceIndex op = 0;   ///< the launch
    TraceIndex run = 0;  ///< in Trace::node_runs
};

/// Returns the node runs by launch, then start. Leaves out runs with an unknown launch or unknown
/// times.
std::vector<NodeRun> find_node_runs(const Trace& trace);

/// Returns the measured times of each operation. A launched graph spans its nodes. Unknown ends of
/// operations that did start stay unknown.
std::vector<Ran> measured_times(const Trace& trace, const std::vector<NodeRun>& nodes);

/// The operations that matter, in the order of their streams: work with times, waits and records.
class StreamOrder {
public:
    StreamOrder(const Trace& trace, const std::vector<Ran>& ran);

    /// Returns the stream's operations, indices in Trace::ops.
    std::span<const TraceIndex> of(TraceIndex stream) const noexcept {
        return {ops_.data() + first_[stream], first_[stream + 1] - first_[stream]};
    }
    /// Returns the index of the stream's first operation among those of all streams.
    std::size_t first(TraceIndex stream) const noexcept { return first_[stream]; }
    /// Returns how many operations of the stream are at that position or an earlier one.
    std::size_t covered(TraceIndex stream, std::uint64_t position) const noexcept;
    TraceIndex streams() const noexcept { return static_cast<TraceIndex>(first_.size() - 1); }
    std::size_t size() const noexcept { return ops_.size(); }

private:
    void sort(TraceIndex stream, const Trace& trace);

    std::vector<TraceIndex> ops_;
    std::vector<std::uint64_t> positions_;  ///< the position of each of these operations
    std::vector<std::size_t> first_;        ///< index of each stream's first operation, and the end
};

/// The dependencies of an operation, besides its call.
struct Needs {
    TraceIndex before = no_index;  ///< the previous operation on its stream
    TraceIndex wait = no_index;  ///< of the waits between the two, the one that was satisfied last
    TraceIndex unseen = no_index;  ///< a wait between the two for work outside all recordings
};

/// A trace, and all that has been deduced from it.
struct Solving {
    /// Deduces everything that bars, arrows and gaps need.
    explicit Solving(const Trace& trace);

    /// Returns the end of an operation, or unknown_moment, which is less than all other moments.
    Moment end_of(TraceIndex op) const noexcept {
        return op < ran.size() ? ran[op].end : unknown_moment;
    }
    /// Returns the moment until which the host held up an operation. That is the return of its call
    /// or, if the call then waited for the operation itself, the begin of that wait. May be
    /// unknown.
    Moment enqueued(TraceIndex op) const noexcept {
        const TraceOp& described = trace.ops[op];
        const Moment called = std::max(sane(described.call_begin), sane(described.call_end));
        const auto found = waited_within.find(op);
        return found != waited_within.end() ? std::min(found->second, called) : called;
    }
    /// Returns the operation that a wait waited for, or no_index.
    TraceIndex target_of(TraceIndex wait) const noexcept {
        return wait < targets.size() ? targets[wait] : no_index;
    }

    const Trace& trace;
    const OpsById host_functions;
    std::vector<NodeRun> nodes;
    std::vector<Ran> ran;  ///< the times of each operation
    StreamOrder order;
    std::vector<TraceIndex> targets;  ///< for each wait: the operation it waited for
    /// For operations whose own calls waited for them: the begin of that wait.
    std::unordered_map<TraceIndex, Moment> waited_within;
    std::vector<Needs> needs;   ///< the dependencies of each operation that ran
    Moment begin = 0, end = 0;  ///< begin and end of the whole picture
};

/// Fills `targets` and `needs`.
void follow_waits(Solving& solving);
/// Fills in missing times. An operation that did not end is assigned an end. A missing start
/// becomes the latest end of the operation's dependencies, but at most its own end.
void fill_times(Solving& solving);

std::vector<Bar> make_bars(const Solving& solving);
std::vector<Arrow> make_arrows(const Solving& solving);
/// Fills `solution.gaps` and `solution.rows` from its bars.
void make_gaps(const Solving& solving, Solution& solution);
std::vector<CriticalStep> critical_path(const Solving& solving);

}  // namespace heddle::detail
