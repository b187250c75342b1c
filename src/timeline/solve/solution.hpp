// The solution of a trace: bars, arrows, idle stretches with their reasons, the critical path.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// A run of an operation, or of a node of a launched graph, on its stream's row.
///
/// The bar of a launched graph spans its nodes. The nodes have bars on other lanes, which add
/// nothing to the row's totals. A submitted batch is such a graph. Operations that were recorded by
/// a capture or a batch have no bars of their own.
struct Bar {
    TraceIndex op = 0;          ///< index in Trace::ops
    TraceIndex run = no_index;  ///< index in Trace::node_runs if it is the bar of a node
    TraceIndex stream = 0;      ///< the row
    std::uint32_t lane = 0;     ///< 0, or higher where bars of one row overlap
    Moment start = 0, end = 0;
    bool start_is_deduced = false;  ///< only the end was measured
};

/// Connects an operation that was waited for with the operation that had to wait.
struct Arrow {
    TraceIndex wait = 0;         ///< the wait, index in Trace::ops
    TraceIndex from = no_index;  ///< the operation waited for: the last one that the wait covers
    /// The first operation behind the wait; the wait itself if the host waited.
    TraceIndex to = no_index;
    Moment from_end = 0, to_start = 0;
    bool held_up = false;       ///< `to` could have run earlier without this wait
    bool is_backwards = false;  ///< from_end > to_start, which only errors of the clocks explain
};

/// The reason why nothing ran on a stream.
enum class GapReason : std::uint8_t {
    nothing_enqueued,  ///< nothing ever ran on the stream
    after_last,        ///< all operations of the stream had completed
    launched_late,     ///< the host enqueued the next operation late
    queue_full,        ///< the call that enqueued it was blocked
    loading_code,      ///< the call that enqueued it loaded code
    waited,            ///< the stream waited for another stream's work (Gap::cause)
    device_busy,       ///< work of other streams filled the device
    no_worker,         ///< CPU devices: all workers were busy
    launch_latency,    ///< the rest: from the end of the call or of the last wait to the start
    count_
};
/// Returns the reason in words: "launched late".
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
    TraceIndex op = no_index;     ///< the operation behind the gap; no_index at the end of the row
    TraceIndex cause = no_index;  ///< the operation that held it up, or no_index
    TraceIndex wait = no_index;   ///< the wait that held it up, or no_index
};

/// A link of the critical path, the longest chain of operations and calls that had to follow one
/// another. Links are in order of time. Each begins at the end of the previous one.
struct CriticalStep {
    enum class Kind : std::uint8_t {
        runs,   ///< `op` runs
        waits,  ///< `op` is ready; at the end it starts or, if it is a host wait, returns
        host,   ///< the host's thread does other things, and then calls to enqueue `op`
    };
    Kind kind = Kind::runs;
    TraceIndex op = no_index;
    Moment begin = 0, end = 0;
};

struct RowTotals {
    TraceIndex stream = 0;
    std::uint64_t operations = 0;  ///< number of operations that ran
    Moment busy = 0;
    std::array<Moment, static_cast<std::size_t>(GapReason::count_)> idle{};
};

struct Solution {
    /// Bounds of the picture: busy + idle of each row is their distance.
    Moment begin = 0, end = 0;
    std::vector<Bar> bars;  ///< by stream, then start
    std::vector<Arrow> arrows;
    std::vector<Gap> gaps;  ///< by stream, then begin; with the bars, they fill each row
    std::vector<CriticalStep> critical;
    std::vector<RowTotals> rows;  ///< one for each of Trace::streams
    /// Number of arrows that point backwards within the clocks' errors. They are drawn as if they
    /// did not.
    std::uint64_t backward_arrows = 0;
};

/// Solves a trace. If only an operation's end was measured, its start is deduced. It is the latest
/// of the previous operation's end, the dependencies' ends, and the begin of the call. The trace
/// may be damaged or cut: invalid values count as unknown.
Solution solve(const Trace& trace);

/// Returns the text that `heddle timeline --summary` prints.
std::string summary_of(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
