#include "timeline/file/host_slices.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace heddle::detail {

namespace {

bool is_shown(const Trace& trace, const TraceOp& op) {
    return op.kind != OpKind::synchronize_begin && op.thread < trace.threads.size() &&
           op.call_begin != unknown_moment && op.call_end != unknown_moment;
}

/// Returns for each operation whether it is a host wait for work that had already completed.
std::vector<bool> find_idle_waits(const Trace& trace, const Solution& solution) {
    std::vector<bool> found(trace.ops.size());
    for (const Arrow& arrow : solution.arrows)
        if (arrow.to == arrow.wait && !arrow.held_up) found[arrow.wait] = true;
    return found;
}

/// Returns whether `a` precedes `b`. An outer slice precedes the slices within it.
bool is_before(const HostSlice& a, const HostSlice& b) {
    return std::tuple(a.thread, a.begin, b.end, a.op) < std::tuple(b.thread, b.begin, a.end, b.op);
}

/// Assigns each slice to the first lane that is free, or whose innermost open slice contains it.
class LaneMaker {
public:
    void place(HostSlice& slice) {
        if (slice.thread != thread_) lanes_.clear();
        thread_ = slice.thread;
        for (slice.lane = 0; slice.lane < lanes_.size(); ++slice.lane)
            if (fits(slice, lanes_[slice.lane])) break;
        if (slice.lane == lanes_.size()) lanes_.emplace_back();
        lanes_[slice.lane].push_back(slice.end);
    }

private:
    using Open = std::vector<Moment>;  ///< the ends of the open slices of a lane, innermost last

    static bool fits(const HostSlice& slice, Open& open) {
        while (!open.empty() && open.back() <= slice.begin) open.pop_back();
        return open.empty() || slice.end <= open.back();
    }

    TraceIndex thread_ = no_index;
    std::vector<Open> lanes_;
};

}  // namespace

std::vector<HostSlice> host_slices(const Trace& trace, const Solution& solution) {
    const std::vector<bool> is_idle_wait = find_idle_waits(trace, solution);
    std::vector<HostSlice> slices;
    slices.reserve(trace.ops.size() + trace.ranges.size());
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        const TraceOp& op = trace.ops[i];
        if (!is_shown(trace, op)) continue;
        HostSlice& slice = slices.emplace_back();
        slice.thread = op.thread;
        slice.begin = op.call_begin;
        slice.is_instant = op.kind == OpKind::query || is_idle_wait[i];
        slice.end = slice.is_instant ? slice.begin : std::max(op.call_begin, op.call_end);
        slice.op = static_cast<TraceIndex>(i);
    }
    for (std::size_t i = 0; i < trace.ranges.size(); ++i) {
        const TraceRange& range = trace.ranges[i];
        HostSlice& slice = slices.emplace_back();
        slice.thread = range.thread;
        slice.begin = range.begin;
        slice.end = std::max(range.begin, range.end);
        slice.range = static_cast<TraceIndex>(i);
    }
    std::sort(slices.begin(), slices.end(), is_before);
    LaneMaker lanes;
    for (HostSlice& slice : slices) lanes.place(slice);
    return slices;
}

}  // namespace heddle::detail
