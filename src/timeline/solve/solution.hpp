// What follows from a trace: bars, arrows, idle stretches with their reasons, the critical path.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// A run of an operation, or of a node of a launched graph, on its stream's row.
///
/// The bar of a launched graph spans its nodes. These have bars besides, on other lanes, which lie
/// within it in time: they add nothing to the row's totals. A sent batch is such a graph.
/// Operations that a capture or batch recorded have no bars of their own.
struct Bar {
    TraceIndex op = 0;          ///< index in Trace::ops
    TraceIndex run = no_index;  ///< index in Trace::node_runs, if it is a node's
    TraceIndex stream = 0;      ///< the row
    std::uint32_t lane = 0;     ///< 0, or more where bars of one row overlap
    Moment start = 0, end = 0;
    bool start_is_deduced = false;  ///< only the end was measured
};

/// From what was waited for to what had to wait.
struct Arrow {
    TraceIndex wait = 0;         ///< the wait, index in Trace::ops
    TraceIndex from = no_index;  ///< the operation waited for: the last one that the wait covers
    TraceIndex to = no_index;  ///< the first operation behind the wait; the wait itself on the host
    Moment from_end = 0, to_start = 0;
    bool held_up = false;       ///< `to` could have run earlier without this wait
    bool is_backwards = false;  ///< from_end > to_start, which only errors of clocks explain
};

/// Why nothing ran on a stream.
enum class GapReason : std::uint8_t {
    nothing_enqueued,  ///< nothing ever ran on the stream
    after_last,        ///< all that ran had ended
    launched_late,     ///< the host came late with the next operation
    queue_full,        ///< the call that enqueued it was blocked
    loading_code,      ///< the call that enqueued it loaded code
    waited,            ///< for another stream's work (Gap::cause)
    device_busy,       ///< other streams' work filled the device
    no_worker,         ///< CPU devices: all workers were busy
    launch_latency,    ///< the rest: from the call's end, or the last wait's, to the start
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
    TraceIndex op = no_index;     ///< the operation behind the gap; none at the end of the row
    TraceIndex cause = no_index;  ///< the operation that held it up, if one did
    TraceIndex wait = no_index;   ///< the wait that made it so
};

/// A link of the longest chain of what had to happen one after the other, in order of time. Each
/// begins where the one before ended.
struct CriticalStep {
    enum class Kind : std::uint8_t {
        runs,   ///< `op` runs
        waits,  ///< all that `op` needed was done. `op` starts at the end; a host wait returns then
        host,   ///< the host's thread does other things, and then calls to enqueue `op`
    };
    Kind kind = Kind::runs;
    TraceIndex op = no_index;
    Moment begin = 0, end = 0;
};

struct RowTotals {
    TraceIndex stream = 0;
    std::uint64_t operations = 0;  ///< that ran
    Moment busy = 0;
    std::array<Moment, static_cast<std::size_t>(GapReason::count_)> idle{};
};

struct Solution {
    Moment begin = 0, end = 0;  ///< of the whole picture: busy + idle of each row is their distance
    std::vector<Bar> bars;      ///< by stream, then start
    std::vector<Arrow> arrows;
    std::vector<Gap> gaps;  ///< by stream, then begin; they and the bars fill each row
    std::vector<CriticalStep> critical;
    std::vector<RowTotals> rows;        ///< one for each of Trace::streams
    std::uint64_t backward_arrows = 0;  ///< within the clocks' errors; drawn as if they were not
};

/// Computes it all. Operations of which only the end is known get a start: the latest of the end of
/// the one before, the ends of what they waited for, and the begin of their call. The trace may be
/// damaged or cut: what makes no sense in it counts as not known.
Solution solve(const Trace& trace);

/// Returns what `heddle timeline --summary` prints.
std::string summary_of(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
