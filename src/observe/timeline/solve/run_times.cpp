// Finds when operations ran. Uses measured times, and deduces missing ones.
#include <algorithm>
#include <tuple>

#include "timeline/solve/solving.hpp"

namespace heddle::detail {

std::vector<NodeRun> find_node_runs(const Trace& trace) {
    if (trace.node_runs.empty()) return {};
    const OpsById launches(trace, OpKind::graph_launch);
    const auto has_node = [&](TraceIndex launch, std::uint32_t node) {
        const TraceOp& op = trace.ops[launch];
        return op.stream < trace.streams.size() && op.graph < trace.graphs.size() &&
               node < trace.graphs[op.graph].nodes.size();
    };
    std::vector<NodeRun> found;
    for (std::size_t i = 0; i < trace.node_runs.size(); ++i) {
        const TraceNodeRun& run = trace.node_runs[i];
        if (!is_known(run.start) || !is_known(run.end) || run.end < run.start) continue;
        const TraceIndex launch = launches.find(run.launch);
        if (launch != no_index && has_node(launch, run.node))
            found.push_back({launch, static_cast<TraceIndex>(i)});
    }
    const auto key = [&](const NodeRun& one) {
        return std::tuple(one.op, trace.node_runs[one.run].start, one.run);
    };
    const auto is_before = [&](const NodeRun& a, const NodeRun& b) { return key(a) < key(b); };
    if (!std::is_sorted(found.begin(), found.end(), is_before))
        std::sort(found.begin(), found.end(), is_before);
    return found;
}

std::vector<Ran> measured_times(const Trace& trace, const std::vector<NodeRun>& nodes) {
    std::vector<Ran> ran(trace.ops.size());
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        const TraceOp& op = trace.ops[i];
        if (!is_work(op) || op.stream >= trace.streams.size()) continue;
        ran[i] = {sane(op.start), sane(op.end)};
        if (is_known(ran[i].end)) ran[i].end = std::max(ran[i].end, ran[i].start);
    }
    for (const NodeRun& node : nodes) {
        const TraceNodeRun& run = trace.node_runs[node.run];
        Ran& graph = ran[node.op];
        graph.start = is_known(graph.start) ? std::min(graph.start, run.start) : run.start;
        graph.end = std::max(graph.end, run.end);
    }
    return ran;
}

namespace {

/// Assigns an end to each operation that only has a start. The end is the start of the stream's
/// next operation, or `last` (the end of the picture) if there is none.
void close_open_ends(Solving& solving, TraceIndex stream, Moment last) {
    const auto ops = solving.order.of(stream);
    Moment next = last;
    for (auto one = ops.rbegin(); one != ops.rend(); ++one) {
        Ran& ran = solving.ran[*one];
        if (!is_known(ran.start)) continue;
        if (!is_known(ran.end)) ran.end = std::max(ran.start, next);
        next = ran.start;
    }
}

void deduce_starts(Solving& solving, TraceIndex stream) {
    Moment before = unknown_moment;
    for (const TraceIndex index : solving.order.of(stream)) {
        Ran& ran = solving.ran[index];
        if (!is_known(ran.end)) continue;
        if (!is_known(ran.start)) {
            const Moment waited = solving.end_of(solving.target_of(solving.needs[index].wait));
            ran.start = std::max({before, waited, sane(solving.trace.ops[index].call_begin)});
            ran.start = is_known(ran.start) ? std::min(ran.start, ran.end) : ran.end;
            ran.start_is_deduced = true;
        }
        before = std::max(before, ran.end);
    }
}

}  // namespace

void fill_times(Solving& solving) {
    Moment last = sane(solving.trace.end);
    for (const TraceOp& op : solving.trace.ops)
        last = std::max({last, sane(op.call_end), sane(op.start), sane(op.end)});
    for (TraceIndex stream = 0; stream < solving.order.streams(); ++stream)
        close_open_ends(solving, stream, last);
    follow_waits(solving);
    for (TraceIndex stream = 0; stream < solving.order.streams(); ++stream)
        deduce_starts(solving, stream);
}

namespace {

/// Sets the bounds of the picture. They include the recording, all its calls and all its runs. If
/// the oldest operations were lost, the picture begins with the oldest remaining operation.
void find_bounds(Solving& solving) {
    const Trace& trace = solving.trace;
    Moment begin = furthest_moment, end = unknown_moment;
    const auto include = [&](Moment moment) {
        if (!is_known(moment)) return;
        begin = std::min(begin, moment);
        end = std::max(end, moment);
    };
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        include(trace.ops[i].call_begin);
        include(trace.ops[i].call_end);
        include(solving.ran[i].start);
        include(solving.ran[i].end);
    }
    if (trace.lost_ops == 0 || !is_known(end)) include(trace.begin);
    include(trace.end);
    solving.begin = is_known(end) ? begin : 0;
    solving.end = is_known(end) ? end : 0;
}

}  // namespace

Solving::Solving(const Trace& of)
    : trace(of), host_functions(of, OpKind::host_function), nodes(find_node_runs(of)),
      ran(measured_times(of, nodes)), order(of, ran), targets(of.ops.size(), no_index),
      needs(of.ops.size()) {
    fill_times(*this);
    find_bounds(*this);
}

}  // namespace heddle::detail
