// What follows from a trace. The parts are in files of their own:
//
//     run_times     when each operation ran; starts that were not measured are deduced
//     stream_order  operations by stream and position
//     waits         what each wait waited for
//     bars, arrows, gaps, critical_path
#include "timeline/solve/solving.hpp"

namespace heddle::detail {

const char* to_string(GapReason reason) noexcept {
    switch (reason) {
    case GapReason::nothing_enqueued: return "nothing enqueued";
    case GapReason::launched_late: return "launched late";
    case GapReason::queue_full: return "the call was blocked";
    case GapReason::loading_code: return "the call loaded code";
    case GapReason::waited: return "waited for another stream";
    case GapReason::device_busy: return "device busy";
    case GapReason::no_worker: return "no worker free";
    case GapReason::launch_latency: return "launch latency";
    case GapReason::count_: break;
    }
    return "?";
}

Solution solve(const Trace& trace) {
    const Solving solving(trace);
    Solution solution;
    solution.begin = solving.begin;
    solution.end = solving.end;
    solution.bars = make_bars(solving);
    solution.arrows = make_arrows(solving);
    for (const Arrow& arrow : solution.arrows) {
        if (!arrow.is_backwards) continue;
        const Moment error =
            clock_error_of(trace, trace.ops[arrow.from].stream) +
            (arrow.to == arrow.wait ? 0 : clock_error_of(trace, trace.ops[arrow.to].stream));
        if (arrow.from_end - arrow.to_start <= error) ++solution.backward_arrows;
    }
    make_gaps(solving, solution);
    solution.critical = critical_path(solving);
    return solution;
}

}  // namespace heddle::detail
