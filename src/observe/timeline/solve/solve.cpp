// Solves a trace. The parts are in separate files:
//
//     run_times     the times at which each operation ran, and starts deduced where not measured
//     stream_order  operations by stream and position
//     waits         the target of each wait
//     bars, arrows, gaps, critical_path
#include "timeline/solve/solving.hpp"

namespace heddle::detail {

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
