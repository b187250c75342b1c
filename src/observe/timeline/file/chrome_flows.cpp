#include "timeline/file/chrome_flows.hpp"

#include <algorithm>
#include <numeric>

namespace heddle::detail {

namespace {

/// Returns for each wait how long it held up another operation. Returns 0 for other operations.
std::vector<Moment> lengths_of_waits(const Trace& trace, const Solution& solution) {
    std::vector<Moment> lengths(trace.ops.size());
    for (const Gap& gap : solution.gaps)
        if (gap.wait < lengths.size()) lengths[gap.wait] += gap.end - gap.begin;
    for (const Arrow& arrow : solution.arrows) {
        const Moment called = trace.ops[arrow.wait].call_begin;
        if (arrow.to == arrow.wait && called != unknown_moment)
            lengths[arrow.wait] = arrow.to_start - called;
    }
    return lengths;
}

/// Returns the indices of the arrows to show, in ascending order.
std::vector<TraceIndex> choose(const Trace& trace, const Solution& solution, std::size_t most) {
    std::vector<TraceIndex> chosen(solution.arrows.size());
    std::iota(chosen.begin(), chosen.end(), TraceIndex{0});
    if (chosen.size() <= most) return chosen;
    std::erase_if(chosen, [&](TraceIndex i) { return !solution.arrows[i].held_up; });
    if (chosen.size() <= most) return chosen;
    const std::vector<Moment> lengths = lengths_of_waits(trace, solution);
    const auto held_up_longer = [&](TraceIndex a, TraceIndex b) {
        return lengths[solution.arrows[a].wait] > lengths[solution.arrows[b].wait];
    };
    const auto end = chosen.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(chosen.begin(), end, chosen.end(), held_up_longer);
    chosen.erase(end, chosen.end());
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

/// A slice that a flow may begin or end in.
struct FlowEnd {
    ChromeRow row;
    Moment begin = 0, end = 0;
    Moment last() const { return std::max(begin, end - 1); }  ///< the last moment within the slice
};

class FlowMaker {
public:
    FlowMaker(const Trace& trace, const Solution& solution, const std::vector<HostSlice>& host,
              const ChromeRows& rows)
        : solution_(solution), host_(host), rows_(rows), bars_(trace.ops.size(), no_index),
          calls_(trace.ops.size(), no_index) {
        // For a graph launch, prefers the bar of the graph itself to the bars of its nodes.
        for (std::size_t i = 0; i < solution.bars.size(); ++i) {
            TraceIndex& bar = bars_[solution.bars[i].op];
            if (bar == no_index || solution.bars[i].run == no_index)
                bar = static_cast<TraceIndex>(i);
        }
        for (std::size_t i = 0; i < host.size(); ++i)
            if (host[i].op != no_index) calls_[host[i].op] = static_cast<TraceIndex>(i);
    }

    /// Completes the flow. Returns false if one end of its arrow has no slice.
    bool make(TraceIndex index, ChromeFlow& flow) const {
        const Arrow& arrow = solution_.arrows[index];
        FlowEnd from, to;
        if (!find_bar(arrow.from, from)) return false;
        const bool is_of_host = arrow.to == arrow.wait;
        if (is_of_host ? !find_call(arrow.to, to) : !find_bar(arrow.to, to)) return false;
        flow = {index, from.row, to.row, from.last(), to.begin};
        if (is_of_host) flow.to_moment = std::clamp(arrow.to_start, to.begin, to.last());
        // With inexact clocks, an arrow may seem to end before it begins. Then the begin is moved
        // earlier.
        flow.from_moment = std::max(from.begin, std::min(flow.from_moment, flow.to_moment));
        flow.to_moment = std::max(flow.from_moment, flow.to_moment);
        return flow.to_moment <= to.last();
    }

private:
    bool find_bar(TraceIndex op, FlowEnd& place) const {
        if (op >= bars_.size() || bars_[op] == no_index) return false;
        const Bar& bar = solution_.bars[bars_[op]];
        place = {rows_.of(bar), bar.start, bar.end};
        return true;
    }
    bool find_call(TraceIndex op, FlowEnd& place) const {
        if (op >= calls_.size() || calls_[op] == no_index) return false;
        const HostSlice& slice = host_[calls_[op]];
        if (slice.is_instant) return false;  // viewers drop an arrow if no slice is at its end
        place = {rows_.of(slice), slice.begin, slice.end};
        return true;
    }

    const Solution& solution_;
    const std::vector<HostSlice>& host_;
    const ChromeRows& rows_;
    /// By operation: index of its bar, and of the slice of its call.
    std::vector<TraceIndex> bars_, calls_;
};

}  // namespace

ChromeFlows chrome_flows(const Trace& trace, const Solution& solution,
                         const std::vector<HostSlice>& host, const ChromeRows& rows,
                         std::size_t most) {
    const FlowMaker maker(trace, solution, host, rows);
    ChromeFlows flows;
    for (const TraceIndex index : choose(trace, solution, most)) {
        ChromeFlow flow;
        if (maker.make(index, flow)) flows.all.push_back(flow);
    }
    flows.left_out = solution.arrows.size() - flows.all.size();
    return flows;
}

}  // namespace heddle::detail
