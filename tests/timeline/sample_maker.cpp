#include "timeline/sample_maker.hpp"

#include <algorithm>

namespace heddle_test {

namespace {
constexpr Moment call_time = 2'200, launch_latency = 1'900;
}

SampleMaker::SampleMaker(std::string program) {
    trace().program = std::move(program);
    trace().base_realtime_ns = 1'767'225'600'000'000'000;
}

TraceIndex SampleMaker::text(std::string_view text) {
    auto& strings = trace().strings;
    const auto found = std::ranges::find(strings, text);
    if (found != strings.end()) return static_cast<TraceIndex>(found - strings.begin());
    strings.emplace_back(text);
    return static_cast<TraceIndex>(strings.size() - 1);
}

TraceIndex SampleMaker::add_device(std::string_view name, int index, detail::TraceClock clock,
                                   Moment clock_error) {
    trace().devices.push_back({.is_cuda = clock != detail::TraceClock::workers,
                               .index = index,
                               .name = text(name),
                               .clock = clock,
                               .clock_error = clock_error});
    return static_cast<TraceIndex>(trace().devices.size() - 1);
}

TraceIndex SampleMaker::add_stream(TraceIndex device, std::string_view name) {
    const auto index = static_cast<TraceIndex>(trace().streams.size());
    trace().streams.push_back({.id = index + 1u, .device = device, .name = text(name)});
    ends_.emplace_back();
    return index;
}

TraceIndex SampleMaker::add_thread(std::string_view name) {
    trace().threads.push_back({text(name)});
    clocks_.push_back(1'000);
    return static_cast<TraceIndex>(trace().threads.size() - 1);
}

TraceIndex SampleMaker::enqueue(TraceIndex stream, OpKind kind, std::string_view name) {
    const auto index = static_cast<TraceIndex>(trace().ops.size());
    detail::TraceOp op;
    op.id = index + 1u;
    op.kind = kind;
    op.name = text(name);
    op.file = text("/home/user/pipeline/src/pipeline.cpp");
    op.line = line_;
    op.thread = thread_;
    op.stream = stream;
    op.device = trace().streams[stream].device;
    op.position = index + 1u;
    op.call_begin = clocks_[thread_];
    op.call_end = clocks_[thread_] += call_time + delay_;
    op.first_access = static_cast<std::uint32_t>(trace().accesses.size());
    trace().ops.push_back(op);
    return index;
}

void SampleMaker::add_gap(TraceIndex stream, TraceIndex op, Moment& from, Moment to,
                          GapReason reason, TraceIndex wait) {
    if (to <= from) return;
    const TraceIndex cause = wait == no_index ? no_index : solution().arrows[wait].from;
    solution().gaps.push_back({.stream = stream,
                               .begin = from,
                               .end = to,
                               .reason = reason,
                               .op = op,
                               .cause = cause,
                               .wait = wait == no_index ? no_index : solution().arrows[wait].wait});
    from = to;
}

/// Adds the gaps between the stream's previous operation and `start`: one up to the begin of the
/// call, one up to its end, one up to the end of each wait, and the rest as launch latency.
void SampleMaker::add_gaps(TraceIndex stream, TraceIndex op, Moment start) {
    Moment from = ends_[stream].end;
    const detail::TraceOp& o = trace().ops[op];
    add_gap(stream, op, from, std::min(o.call_begin, start), GapReason::launched_late);
    add_gap(stream, op, from, std::min(o.call_end, start),
            delay_ > 0 ? delay_reason_ : GapReason::launched_late);
    delay_ = 0;
    for (const TraceIndex arrow : ends_[stream].arrows)
        add_gap(stream, op, from, std::min(solution().arrows[arrow].from_end, start),
                GapReason::waited, arrow);
    add_gap(stream, op, from, start, GapReason::launch_latency);
}

void SampleMaker::place_bar(TraceIndex stream, TraceIndex op, Moment start, Moment length) {
    detail::TraceOp& o = trace().ops[op];
    o.start = start;
    o.end = start + length;
    for (const TraceIndex arrow : ends_[stream].arrows) {
        detail::Arrow& a = solution().arrows[arrow];
        a.to = op;
        a.to_start = start;
        a.held_up = a.from_end > std::max(ends_[stream].end, o.call_end);
    }
    ends_[stream] = {op, o.end, {}};
    solution().bars.push_back({.op = op, .stream = stream, .start = start, .end = o.end});
}

TraceIndex SampleMaker::run(TraceIndex stream, OpKind kind, std::string_view name, Moment length,
                            std::uint64_t bytes) {
    const TraceIndex op = enqueue(stream, kind, name);
    trace().ops[op].bytes = bytes;
    Moment ready = std::max(ends_[stream].end, trace().ops[op].call_end);
    for (const TraceIndex arrow : ends_[stream].arrows)
        ready = std::max(ready, solution().arrows[arrow].from_end);
    const Moment start = ready + (ready == ends_[stream].end ? 0 : launch_latency);
    add_gaps(stream, op, start);
    place_bar(stream, op, start, length);
    return op;
}

TraceIndex SampleMaker::wait(TraceIndex stream, TraceIndex other, WaitReason reason) {
    const TraceIndex wait = enqueue(stream, OpKind::wait, "wait_stream");
    trace().ops[wait].reason = reason;
    trace().ops[wait].other = other;
    if (ends_[other].op == no_index) return wait;
    trace().ops[wait].other_position = trace().ops[ends_[other].op].position;
    ends_[stream].arrows.push_back(static_cast<TraceIndex>(solution().arrows.size()));
    solution().arrows.push_back(
        {.wait = wait, .from = ends_[other].op, .from_end = ends_[other].end});
    return wait;
}

TraceIndex SampleMaker::synchronize(TraceIndex stream) {
    const TraceIndex wait = enqueue(stream, OpKind::synchronize, "synchronize");
    detail::TraceOp& op = trace().ops[wait];
    op.other = stream;
    if (ends_[stream].op != no_index) op.other_position = trace().ops[ends_[stream].op].position;
    const bool held = ends_[stream].end > op.call_end;
    if (held) clocks_[thread_] = op.call_end = ends_[stream].end + 4'700;
    if (ends_[stream].op != no_index)
        solution().arrows.push_back({.wait = wait,
                                     .from = ends_[stream].op,
                                     .to = wait,
                                     .from_end = ends_[stream].end,
                                     .to_start = op.call_end,
                                     .held_up = held});
    return wait;
}

TraceIndex SampleMaker::call(TraceIndex stream, OpKind kind, std::string_view name, OpMode mode) {
    const TraceIndex op = enqueue(stream, kind, name);
    trace().ops[op].mode = mode;
    trace().ops[op].recording = mode == OpMode::run ? 0 : 41;
    return op;
}

TraceIndex SampleMaker::add_graph(const std::vector<std::string>& nodes) {
    detail::TraceGraph graph;
    graph.id = 900 + trace().graphs.size();
    for (const std::string& name : nodes) {
        detail::TraceNode node;
        node.name = text(name);
        node.file = text("/home/user/pipeline/src/graph.cpp");
        node.line = 20 + static_cast<std::uint32_t>(graph.nodes.size());
        if (!graph.nodes.empty()) node.after = {static_cast<std::uint32_t>(graph.nodes.size() - 1)};
        graph.nodes.push_back(node);
    }
    trace().graphs.push_back(graph);
    return static_cast<TraceIndex>(trace().graphs.size() - 1);
}

TraceIndex SampleMaker::launch_graph(TraceIndex stream, TraceIndex graph, Moment length) {
    const TraceIndex op = run(stream, OpKind::graph_launch, "step", length);
    trace().ops[op].graph = graph;
    const auto count = trace().graphs[graph].nodes.size();
    const Moment part = length / static_cast<Moment>((count + 1) / 2);
    for (std::uint32_t node = 0; node < count; ++node) {
        const Moment start = trace().ops[op].start + part * (node / 2);
        const auto run = static_cast<TraceIndex>(trace().node_runs.size());
        trace().node_runs.push_back({op + 1u, node, start, start + part - 3'000});
        solution().bars.push_back({.op = op,
                                   .run = run,
                                   .stream = stream,
                                   .lane = 1 + node % 2,
                                   .start = start,
                                   .end = start + part - 3'000});
    }
    return op;
}

void SampleMaker::access(std::string_view name, std::uint64_t address, std::uint64_t bytes,
                         AccessMode mode, int argument) {
    detail::TraceAccess access;
    access.data = reinterpret_cast<const void*>(address);
    access.bytes = bytes;
    access.element = 4;
    access.mode = mode;
    access.argument = static_cast<std::int8_t>(argument);
    access.name = text(name);
    trace().accesses.push_back(access);
    ++last_op().accesses;
}

void SampleMaker::range(std::string_view name, Moment begin) {
    trace().ranges.push_back({thread_, text(name), begin, now()});
}

/// Begins with the operation that ended last. Repeatedly steps to the latest end before its start.
void SampleMaker::add_critical_path() {
    auto& steps = solution().critical;
    const auto& bars = solution().bars;
    const auto later = [](const auto& a, const auto& b) { return a.end < b.end; };
    auto at = std::ranges::max_element(bars, later);
    while (at != bars.end()) {
        steps.push_back({detail::CriticalStep::Kind::runs, at->op, at->start, at->end});
        auto next = bars.end();
        for (auto bar = bars.begin(); bar != bars.end(); ++bar)
            if (bar->run == no_index && bar->end <= at->start &&
                (next == bars.end() || bar->end > next->end))
                next = bar;
        if (next != bars.end() && next->end < at->start)
            steps.push_back({detail::CriticalStep::Kind::host, at->op, next->end, at->start});
        at = next;
    }
    std::ranges::reverse(steps);
}

Sample SampleMaker::finish() {
    auto& [trace, solution] = sample_;
    for (const detail::Bar& bar : solution.bars) solution.end = std::max(solution.end, bar.end);
    for (const detail::TraceOp& op : trace.ops) solution.end = std::max(solution.end, op.call_end);
    trace.end = solution.end;
    std::erase_if(solution.arrows, [](const detail::Arrow& a) { return a.to == no_index; });
    if (solution.bars.size() < 10'000) add_critical_path();
    for (TraceIndex stream = 0; stream < trace.streams.size(); ++stream) {
        Moment from = ends_[stream].end;
        if (from > 0) add_gap(stream, no_index, from, solution.end, GapReason::after_last);
    }
    const auto by_row = [](const auto& a, const auto& b) { return a.stream < b.stream; };
    std::ranges::stable_sort(solution.bars, [](const auto& a, const auto& b) {
        return a.stream != b.stream ? a.stream < b.stream
               : a.start != b.start ? a.start < b.start
                                    : a.lane < b.lane;
    });
    std::ranges::stable_sort(solution.gaps, by_row);
    solution.rows.resize(trace.streams.size());
    for (TraceIndex i = 0; i < solution.rows.size(); ++i) solution.rows[i].stream = i;
    for (const detail::Bar& bar : solution.bars) {
        if (bar.lane > 0) continue;
        ++solution.rows[bar.stream].operations;
        solution.rows[bar.stream].busy += bar.end - bar.start;
    }
    for (const detail::Gap& gap : solution.gaps)
        solution.rows[gap.stream].idle[static_cast<std::size_t>(gap.reason)] += gap.end - gap.begin;
    return std::move(sample_);
}

}  // namespace heddle_test
