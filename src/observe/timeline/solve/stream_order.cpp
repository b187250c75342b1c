// Sorts the operations of a trace by stream and position.
#include <algorithm>

#include "timeline/solve/solving.hpp"

namespace heddle::detail {

namespace {

bool belongs_in_order(const Trace& trace, const TraceOp& op, const Ran& ran) {
    if (op.mode != OpMode::run || op.stream >= trace.streams.size()) return false;
    return op.kind == OpKind::wait || op.kind == OpKind::wait_elided || op.kind == OpKind::record ||
           is_known(ran.start) || is_known(ran.end);
}

}  // namespace

StreamOrder::StreamOrder(const Trace& trace, const std::vector<Ran>& ran)
    : first_(trace.streams.size() + 1) {
    const auto each = [&](auto&& use) {
        for (std::size_t i = 0; i < trace.ops.size(); ++i)
            if (belongs_in_order(trace, trace.ops[i], ran[i])) use(static_cast<TraceIndex>(i));
    };
    each([&](TraceIndex op) { ++first_[trace.ops[op].stream + 1]; });
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    ops_.resize(first_.back());
    positions_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    each([&](TraceIndex op) { ops_[next[trace.ops[op].stream]++] = op; });
    for (TraceIndex stream = 0; stream < streams(); ++stream) sort(stream, trace);
}

void StreamOrder::sort(TraceIndex stream, const Trace& trace) {
    const auto begin = ops_.begin() + static_cast<std::ptrdiff_t>(first_[stream]);
    const auto end = ops_.begin() + static_cast<std::ptrdiff_t>(first_[stream + 1]);
    const auto is_before = [&](TraceIndex a, TraceIndex b) {
        return trace.ops[a].position < trace.ops[b].position;
    };
    if (!std::is_sorted(begin, end, is_before)) std::stable_sort(begin, end, is_before);
    for (std::size_t i = first_[stream]; i < first_[stream + 1]; ++i)
        positions_[i] = trace.ops[ops_[i]].position;
}

std::size_t StreamOrder::covered(TraceIndex stream, std::uint64_t position) const noexcept {
    const auto begin = positions_.begin() + static_cast<std::ptrdiff_t>(first_[stream]);
    const auto end = positions_.begin() + static_cast<std::ptrdiff_t>(first_[stream + 1]);
    return static_cast<std::size_t>(std::upper_bound(begin, end, position) - begin);
}

}  // namespace heddle::detail
