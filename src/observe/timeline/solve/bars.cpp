// Makes the bars and assigns their lanes.
#include <algorithm>
#include <functional>
#include <queue>

#include "timeline/solve/solving.hpp"

namespace heddle::detail {

namespace {

/// Assigns to each bar of a row the lowest lane that is free when it starts.
void assign_lanes(std::span<Bar> bars) {
    // The time until which the lane is in use, and the lane.
    using Taken = std::pair<Moment, std::uint32_t>;
    std::priority_queue<Taken, std::vector<Taken>, std::greater<>> taken;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free;
    std::uint32_t lanes = 0;
    for (Bar& bar : bars) {
        for (; !taken.empty() && taken.top().first <= bar.start; taken.pop())
            free.push(taken.top().second);
        if (free.empty()) {
            bar.lane = lanes++;
        } else {
            bar.lane = free.top();
            free.pop();
        }
        taken.emplace(bar.end, bar.lane);
    }
}

Bar bar_of(const Solving& solving, TraceIndex op) {
    const Ran& ran = solving.ran[op];
    return {.op = op,
            .stream = solving.trace.ops[op].stream,
            .start = ran.start,
            .end = ran.end,
            .start_is_deduced = ran.start_is_deduced};
}

Bar bar_of(const Solving& solving, const NodeRun& node) {
    const TraceNodeRun& run = solving.trace.node_runs[node.run];
    return {.op = node.op,
            .run = node.run,
            .stream = solving.trace.ops[node.op].stream,
            .start = run.start,
            .end = run.end};
}

}  // namespace

std::vector<Bar> make_bars(const Solving& solving) {
    const auto is_earlier = [](const Bar& a, const Bar& b) { return a.start < b.start; };
    const auto op_is_earlier = [](const NodeRun& node, TraceIndex op) { return node.op < op; };
    std::vector<Bar> bars;
    bars.reserve(solving.order.size() + solving.nodes.size());
    for (TraceIndex stream = 0; stream < solving.order.streams(); ++stream) {
        const auto first = static_cast<std::ptrdiff_t>(bars.size());
        for (const TraceIndex op : solving.order.of(stream)) {
            if (!is_known(solving.ran[op].end)) continue;
            bars.push_back(bar_of(solving, op));
            if (solving.trace.ops[op].kind != OpKind::graph_launch) continue;
            auto node =
                std::lower_bound(solving.nodes.begin(), solving.nodes.end(), op, op_is_earlier);
            for (; node != solving.nodes.end() && node->op == op; ++node)
                bars.push_back(bar_of(solving, *node));
        }
        // Sorting is stable: if a graph and its node start together, the graph's bar remains first.
        const auto begin = bars.begin() + first;
        if (!std::is_sorted(begin, bars.end(), is_earlier))
            std::stable_sort(begin, bars.end(), is_earlier);
        assign_lanes({bars.data() + first, bars.size() - static_cast<std::size_t>(first)});
    }
    return bars;
}

}  // namespace heddle::detail
