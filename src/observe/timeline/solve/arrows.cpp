// Makes an arrow for each wait: from the awaited operation to the operation that had to wait.
#include <algorithm>

#include "timeline/solve/solving.hpp"

namespace heddle::detail {

namespace {

Arrow arrow_of(const Solving& solving, TraceIndex wait, TraceIndex to) {
    const TraceIndex from = solving.target_of(wait);
    Arrow arrow{.wait = wait, .from = from, .to = to, .from_end = solving.end_of(from)};
    arrow.to_start = wait == to ? sane(solving.trace.ops[wait].call_end) : solving.ran[to].start;
    // If a thread polled, its last query may have begun before the awaited work ended.
    if (solving.trace.ops[wait].kind == OpKind::blocked)
        arrow.to_start = std::max(arrow.to_start, arrow.from_end);
    arrow.is_backwards = arrow.from_end > arrow.to_start;
    return arrow;
}

/// Returns whether `to` could have run earlier without this wait. If several waits were satisfied
/// at the same moment, only the first one counts.
bool held_up(const Solving& solving, const Arrow& arrow) {
    const TraceOp& to = solving.trace.ops[arrow.to];
    if (arrow.wait == arrow.to) return is_known(to.call_begin) && arrow.from_end > to.call_begin;
    const Needs& needs = solving.needs[arrow.to];
    if (needs.wait != arrow.wait) return false;
    return arrow.from_end > std::max(solving.end_of(needs.before), solving.enqueued(arrow.to));
}

}  // namespace

std::vector<Arrow> make_arrows(const Solving& solving) {
    const Trace& trace = solving.trace;
    std::vector<Arrow> arrows;
    const auto add = [&](TraceIndex wait, TraceIndex to) {
        arrows.push_back(arrow_of(solving, wait, to));
        arrows.back().held_up = held_up(solving, arrows.back());
    };
    std::vector<TraceIndex> waits;  // the waits since the previous operation
    for (TraceIndex stream = 0; stream < solving.order.streams(); ++stream) {
        waits.clear();
        for (const TraceIndex op : solving.order.of(stream)) {
            if (solving.target_of(op) != no_index) waits.push_back(op);
            if (!is_known(solving.ran[op].end)) continue;
            for (const TraceIndex wait : waits) add(wait, op);
            waits.clear();
        }
    }
    for (std::size_t i = 0; i < trace.ops.size(); ++i)
        if (is_host_wait(trace.ops[i]) && solving.targets[i] != no_index &&
            is_known(trace.ops[i].call_end))
            add(static_cast<TraceIndex>(i), static_cast<TraceIndex>(i));
    return arrows;
}

}  // namespace heddle::detail
