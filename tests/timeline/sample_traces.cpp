#include "timeline/sample_traces.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "timeline/timed_trace.hpp"

namespace heddle_test {

namespace {

/// Fills the tables of a random trace, one after the other.
class TraceFiller {
public:
    TraceFiller(Random& random, std::size_t ops) : random_(random) {
        trace_.base_ns = moment();
        trace_.base_realtime_ns = moment();
        trace_.begin = moment();
        trace_.end = moment();
        trace_.program = string();
        trace_.lost_ops = bits();
        for (std::size_t i = below(4); i > 0; --i) trace_.notes.push_back(string());
        for (std::size_t i = 1 + below(20); i > 0; --i) trace_.strings.push_back(string());
        rows(trace_.devices, 1 + below(3), [this] { return device(); });
        rows(trace_.streams, 1 + below(5), [this] { return stream(); });
        rows(trace_.threads, 1 + below(3), [this] { return TraceThread{name()}; });
        rows(trace_.accesses, below(3 * ops + 1), [this] { return access(); });
        rows(trace_.graphs, 1 + below(4), [this] { return graph(); });
        rows(trace_.ops, ops, [this] { return op(); });
        rows(trace_.node_runs, ops == 0 ? 0 : below(ops), [this] { return node_run(); });
        rows(trace_.ranges, below(10),
             [this] { return TraceRange{index(trace_.threads), name(), moment(), moment()}; });
    }
    Trace trace_;

private:
    template <class Row, class Make>
    static void rows(std::vector<Row>& to, std::size_t count, Make make) {
        while (count-- > 0) to.push_back(make());
    }
    std::size_t below(std::size_t n) { return random_.below(n); }
    bool one_in(std::size_t n) { return below(n) == 0; }
    /// Returns a small or a large number.
    std::uint64_t bits() { return one_in(3) ? 0 : random_.below(~std::size_t{0}) >> below(64); }
    std::uint32_t bits32() { return static_cast<std::uint32_t>(bits()); }
    Moment moment() {
        const auto far = static_cast<Moment>(bits() >> 3);
        return one_in(2) ? far : -far;
    }
    Moment known_or_not() { return one_in(4) ? unknown_moment : moment(); }
    template <class Row> TraceIndex index(const std::vector<Row>& of) {
        return static_cast<TraceIndex>(below(of.size()));
    }
    template <class Row> TraceIndex index_or_none(const std::vector<Row>& of) {
        return of.empty() || one_in(4) ? no_index : index(of);
    }
    TraceIndex name() { return index(trace_.strings); }
    template <class Enum> Enum one_of(std::size_t count) { return static_cast<Enum>(below(count)); }
    OpKind kind() { return one_of<OpKind>(op_kinds); }

    std::string string() {
        std::string text;
        for (std::size_t i = below(12); i > 0; --i) text += static_cast<char>(below(256));
        return text;
    }
    TraceDevice device() {
        return {one_in(2), static_cast<int>(below(9)) - 1, name(), one_of<TraceClock>(4), moment(),
                bits32()};
    }
    TraceStream stream() {
        return {bits(), index(trace_.devices), static_cast<int>(below(7)) - 3, name()};
    }
    TraceAccess access() {
        if (!trace_.accesses.empty() && one_in(2))
            return trace_.accesses[below(trace_.accesses.size())];
        const auto argument = static_cast<std::int8_t>(below(256));
        TraceAccess made;
        made.data = reinterpret_cast<const void*>(bits());
        made.bytes = bits();
        made.allocation = bits();
        made.pitch = bits();
        made.rows = bits32();
        made.element = bits32();
        made.mode = one_of<AccessMode>(4);
        made.argument = argument;
        made.name = name();
        return made;
    }
    /// Selects some of the accesses, or none.
    void set_accesses(std::uint32_t& first, std::uint32_t& count) {
        first = static_cast<std::uint32_t>(below(trace_.accesses.size() + 1));
        count = static_cast<std::uint32_t>(below(trace_.accesses.size() - first + 1));
    }

    TraceOp op() {
        TraceOp op;
        if (!trace_.ops.empty() && one_in(2)) op = trace_.ops[below(trace_.ops.size())];
        else set_repeated(op);
        op.id = bits();
        op.position = bits();
        op.call_begin = known_or_not();
        op.call_end = known_or_not();
        op.start = known_or_not();
        op.end = known_or_not();
        op.other_position = bits();
        op.event = bits();
        op.generation = bits32();
        op.recording = bits();
        op.parent = bits();
        op.collective = bits();
        op.workers = bits32();
        if (op.graph != no_index) {
            const std::size_t own = trace_.graphs[op.graph].nodes.size();
            std::size_t& least = launched_.try_emplace(op.id, own).first->second;
            least = std::min(least, own);
        }
        return op;
    }
    void set_repeated(TraceOp& op) {
        op.kind = kind();
        op.mode = one_of<OpMode>(3);
        op.reason = one_of<WaitReason>(wait_reasons);
        op.name = name();
        op.file = name();
        op.line = bits32();
        op.thread = index_or_none(trace_.threads);
        op.stream = index_or_none(trace_.streams);
        op.device = index_or_none(trace_.devices);
        op.bytes = bits();
        op.other = index_or_none(trace_.streams);
        op.graph = index_or_none(trace_.graphs);
        op.share = bits32();
        op.shares = bits32();
        set_accesses(op.first_access, op.accesses);
    }

    TraceGraph graph() {
        TraceGraph graph{bits(), one_in(2), {}};
        const std::size_t nodes = below(8);
        for (std::uint32_t i = 0; i < nodes; ++i) {
            TraceNode node{name(), name(), bits32(), kind(), 0, 0, {}};
            set_accesses(node.first_access, node.accesses);
            for (std::size_t k = i == 0 ? 0 : below(4); k > 0; --k)
                node.after.push_back(static_cast<std::uint32_t>(below(i)));
            if (i != 0 && one_in(4)) {
                node.inside = static_cast<TraceIndex>(below(i));
                node.alternative = static_cast<std::uint32_t>(below(3));
            }
            graph.nodes.push_back(node);
        }
        return graph;
    }
    /// Returns a run of a node. If the run's launch exists, the launched graph has that node.
    TraceNodeRun node_run() {
        const std::uint64_t launch = one_in(4) ? bits() : trace_.ops[below(trace_.ops.size())].id;
        const auto found = launched_.find(launch);
        const std::size_t nodes = found == launched_.end() ? 1 << 20 : found->second;
        if (nodes == 0) return node_run();
        return {launch, static_cast<std::uint32_t>(below(nodes)), known_or_not(), known_or_not()};
    }

    Random& random_;
    std::map<std::uint64_t, std::size_t> launched_;  ///< by a launch's id: number of its nodes
};

}  // namespace

Trace random_trace(Random& random, std::size_t ops) { return TraceFiller(random, ops).trace_; }

Trace crowded_trace(Random& random, std::size_t ops) {
    Trace trace = random_trace(random, ops);
    const auto moment = [&] { return static_cast<Moment>(random.below(60)); };
    const auto later = [&](Moment than) { return than + static_cast<Moment>(random.below(20)); };
    trace.begin = 0;
    trace.end = 80;
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        TraceOp& op = trace.ops[i];
        op.mode = OpMode::run;
        op.id = i + 1;
        op.position = i + 1;
        op.other_position = random.below(ops);
        op.event = random.below(4);
        op.generation = static_cast<std::uint32_t>(random.below(3));
        op.call_end = later(op.call_begin = moment());
        op.end = later(op.start = moment());
    }
    for (TraceRange& range : trace.ranges) range.end = later(range.begin = moment());
    for (TraceNodeRun& run : trace.node_runs) {
        const TraceOp& launch = trace.ops[random.below(ops)];
        const bool has_nodes =
            launch.graph != no_index && !trace.graphs[launch.graph].nodes.empty();
        run.launch = has_nodes ? launch.id : 0;
        run.node = 0;
        run.end = later(run.start = moment());
    }
    return trace;
}

Trace trace_of_steps(std::size_t ops) {
    TimedTrace t({.call = 0, .order = 0, .between = 0, .start = 1'000, .start_awake = 1'000});
    const TraceIndex device = t.cuda_device(TraceClock::cupti, 900);
    const TraceIndex up = t.stream("up", device), main = t.stream("main", device),
                     side = t.stream("side", device), down = t.stream("down", device);
    t.in_file("src/steps.cpp");
    Trace& trace = t.raw();
    for (std::uint64_t i = 0; i < 8; ++i)
        trace.accesses.push_back(
            {{{reinterpret_cast<const void*>(0x7f0000000000 + (i << 20)), 1 << 20, 1, 1 << 20},
              i + 1,
              4,
              i % 2 == 0 ? AccessMode::read : AccessMode::read_write,
              static_cast<std::int8_t>(i % 2)},
             t.string("chunk")});
    trace.program = "steps";
    trace.base_ns = 987'654'321'012'345;
    trace.base_realtime_ns = 1'765'432'109'876'543'210;

    Random random{1};
    const auto about = [&](Moment time) {
        return time + static_cast<Moment>(random.below(static_cast<std::size_t>(time)));
    };
    const auto pass = [&] {
        t.compute(about(300));
        t.delay_call(about(1'500));
    };
    const auto launch = [&](const char* name, std::uint32_t line, TraceIndex stream) {
        pass();
        const auto op = t.launch(stream, name, about(8'000), {}, line);
        op->first_access = static_cast<std::uint32_t>(trace.ops.size() % 4 * 2);
        op->accesses = 2;
    };
    const auto copy = [&](const char* name, std::uint32_t line, TraceIndex stream) {
        pass();
        t.run(OpKind::copy, stream, name, about(40'000), {.bytes = 1 << 20}, line);
    };
    std::uint32_t generation = 1;
    const auto wait = [&](std::uint32_t line, TraceIndex stream, TraceIndex other) {
        const std::uint64_t event = trace.ops.size() % 16 + 1;
        pass();
        const auto record = t.call(OpKind::record, other, "event", line);
        pass();
        for (const auto& op : {record, t.wait_stream(stream, other, line)}) {
            op->event = event;
            op->generation = generation;
        }
        ++generation;
    };
    while (trace.ops.size() < ops) {
        copy("host to device", 20, up);
        wait(21, main, up);
        for (int i = 0; i < 4; ++i) launch("Hash", 23, main);
        wait(25, side, main);
        launch("Norm", 26, side);
        launch("Sum", 27, main);
        wait(28, main, side);
        launch("Step", 29, main);
        wait(30, down, main);
        copy("device to host", 31, down);
        pass();
        t.synchronize(down, 32);
    }
    trace.ops.resize(ops);
    for (TraceOp& op : trace.ops) {
        trace.end = std::max({trace.end, op.call_end, op.end});
        op.device = 0;
    }
    trace.devices.erase(trace.devices.begin());  // the CPU, which does nothing
    for (TraceStream& stream : trace.streams) stream.device = 0;
    return trace;
}

}  // namespace heddle_test
