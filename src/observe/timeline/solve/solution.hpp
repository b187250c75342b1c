// The solution of a trace: bars, arrows, gaps with their reasons, and the critical path.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// A run of an operation, or of a node of a launched graph, on its stream's row.
///
/// The bar of a launched graph extends from the first to the last run of its nodes. The bars of the
/// nodes are on other lanes, and are not counted in the row's totals. A submitted batch is shown
/// like a graph. An operation that was recorded by a capture or a batch has no bar of its own.
struct Bar {
    TraceIndex op = 0;          ///< index in Trace::ops
    TraceIndex run = no_index;  ///< for the bar of a node: index in Trace::node_runs
    TraceIndex stream = 0;      ///< index in Trace::streams; also selects the row
    std::uint32_t lane = 0;     ///< 0, or a higher lane if bars of the row overlap
    Moment start = 0, end = 0;
    bool start_is_deduced = false;  ///< only the end was measured; the start is deduced
};

/// Connects an awaited operation with the operation that had to wait for it.
struct Arrow {
    TraceIndex wait = 0;         ///< index of the wait in Trace::ops
    TraceIndex from = no_index;  ///< the awaited operation: the last one that the wait covers
    /// The first operation after the wait. For a wait of the host, the wait itself.
    TraceIndex to = no_index;
    Moment from_end = 0, to_start = 0;
    bool held_up = false;       ///< whether `to` could have run earlier without this wait
    bool is_backwards = false;  ///< from_end > to_start: a sign of inexact clocks
};

/// The reason why nothing ran on a stream.
enum class GapReason : std::uint8_t {
    nothing_enqueued,  ///< no operation ever ran on the stream
    after_last,        ///< all operations of the stream were complete
    launched_late,     ///< the host enqueued the next operation late
    queue_full,        ///< the host's call to enqueue the next operation was blocked
    loading_code,      ///< the host's call to enqueue the next operation loaded code
    waited,            ///< the stream waited for work of another stream (Gap::cause)
    device_busy,       ///< work of other streams filled the device
    no_worker,         ///< only for CPU devices: all workers were busy
    launch_latency,    ///< the remaining time until the operation started
    count_
};
/// Returns the reason in words, for example "launched late".
constexpr const char* to_string(GapReason reason) noexcept {
    switch (reason) {
    case GapReason::nothing_enqueued: return "nothing enqueued";
    case GapReason::after_last: return "after the last operation";
    case GapReason::launched_late: return "launched late";
    case GapReason::queue_full: return "queue full";
    case GapReason::loading_code: return "loading code";
    case GapReason::waited: return "waited";
    case GapReason::device_busy: return "device busy";
    case GapReason::no_worker: return "no worker free";
    case GapReason::launch_latency: return "launch latency";
    case GapReason::count_: break;
    }
    return "?";
}

struct Gap {
    TraceIndex stream = 0;
    Moment begin = 0, end = 0;
    GapReason reason = GapReason::nothing_enqueued;
    TraceIndex op = no_index;     ///< the operation after the gap; no_index at the end of the row
    TraceIndex cause = no_index;  ///< the operation that delayed `op`, or no_index
    TraceIndex wait = no_index;   ///< the wait that delayed `op`, or no_index
};

/// One step of the critical path: the longest chain of operations and calls that had to follow one
/// another. Steps are in order of time, and each begins where the previous one ends.
struct CriticalStep {
    enum class Kind : std::uint8_t {
        runs,   ///< `op` runs
        waits,  ///< `op` is ready but has not started or, for a host wait, has not returned
        host,   ///< the host's thread does other work, and then calls to enqueue `op`
    };
    Kind kind = Kind::runs;
    TraceIndex op = no_index;
    Moment begin = 0, end = 0;
};

struct RowTotals {
    TraceIndex stream = 0;
    std::uint64_t operations = 0;  ///< number of operations that ran on the stream
    Moment busy = 0;
    std::array<Moment, static_cast<std::size_t>(GapReason::count_)> idle{};
};

struct Solution {
    /// Bounds of the picture. In each row, the busy and the idle time add up to end - begin.
    Moment begin = 0, end = 0;
    std::vector<Bar> bars;  ///< by stream, then start
    std::vector<Arrow> arrows;
    std::vector<Gap> gaps;  ///< by stream, then begin; bars and gaps together fill each row
    std::vector<CriticalStep> critical;
    std::vector<RowTotals> rows;  ///< one row for each of Trace::streams
    /// The number of arrows that would point backwards, by no more than the clocks' errors, because
    /// the clocks are inexact. These arrows are drawn vertically.
    std::uint64_t backward_arrows = 0;
};

/// Solves a trace. If only the end of an operation was measured, deduces its start: the latest of
/// the end of the previous operation, the ends of the dependencies, and the begin of the call. The
/// trace may be damaged or cut: invalid values count as unknown.
Solution solve(const Trace& trace);

/// Returns the output of `heddle timeline --summary`.
std::string summary_of(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
