// The contents of a recording about enqueued work.
#include "child.hpp"
#include "kernel_launches.hpp"
#include "support.hpp"

#include "core/base/clock.hpp"
#include "recording/spoil.hpp"
#include "timeline/record/timeline_observer.hpp"
#include "timeline/solve/abandoned.hpp"
#include "timeline/solve/solution.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

using namespace heddle_test;
using heddle::detail::no_index;
using heddle::detail::now_ns;
using heddle::detail::TimelineObserver;
using heddle::detail::Trace;
using heddle::detail::TraceOp;
using heddle::detail::unknown_moment;

namespace {

std::vector<TraceOp> of_kind(const Trace& trace, OpKind kind) {
    std::vector<TraceOp> found;
    for (const TraceOp& op : trace.ops)
        if (op.kind == kind) found.push_back(op);
    return found;
}

/// Returns the text with each line break, and the indent after it, replaced by a space.
std::string in_one_line(const std::string& text) {
    std::string line;
    for (const char c : text)
        if (c != '\n' && (c != ' ' || line.empty() || line.back() != ' ')) line += c;
        else if (!line.empty() && line.back() != ' ') line += ' ';
    return line;
}

std::uint64_t stream_id(const Trace& trace, const TraceOp& op) {
    return op.stream == no_index ? 0 : trace.streams.at(op.stream).id;
}

}  // namespace

TEST_CASE("a recorded operation has its place, its stream and its name") {
    const Stream s(test_device(), {.priority = 0, .name = "main work"});
    Array<int> x = zeros<int>(s, 10);
    TimelineObserver observer({});
    const unsigned line = __LINE__ + 1;
    launch(s, Add{}, dim(10), x, 1);
    const Trace trace = observer.trace();
    const std::vector<TraceOp> launches = of_kind(trace, OpKind::launch);
    REQUIRE(launches.size() == 1);
    const TraceOp& op = launches[0];
    CHECK_THAT(trace.text(op.name), contains("Add"));
    CHECK_THAT(trace.text(op.file), contains("timeline_observer_test.cpp"));
    CHECK(op.line == line);
    CHECK(stream_id(trace, op) == s.id());
    CHECK(trace.text(trace.streams[op.stream].name) == "main work");
    CHECK(trace.devices.at(op.device).is_cuda == test_device().is_cuda());
    CHECK(op.call_begin >= 0);
    CHECK(op.call_end >= op.call_begin);
    CHECK(op.call_end <= trace.end);
    REQUIRE(op.accesses == 1);
    const heddle::detail::TraceAccess& access = trace.accesses.at(op.first_access);
    CHECK(access.data == x.data());
    CHECK(access.bytes == 10 * sizeof(int));
    CHECK(access.argument == 0);
    s.synchronize();
}

TEST_CASE("work of a CPU device ran within its recorded times") {
    const Stream s(cpu_device());
    TimelineObserver observer({});
    std::int64_t begun = 0, ended = 0;
    launch_host(s, [&] {
        begun = now_ns();
        ended = now_ns();
    });
    s.synchronize();
    const Trace trace = observer.trace();
    const std::vector<TraceOp> functions = of_kind(trace, OpKind::host_function);
    REQUIRE(functions.size() == 1);
    CHECK(functions[0].start >= functions[0].call_begin);
    CHECK(functions[0].start + trace.base_ns <= begun);
    CHECK(functions[0].end + trace.base_ns >= ended);
    const std::vector<TraceOp> waits = of_kind(trace, OpKind::synchronize);
    REQUIRE(waits.size() == 1);
    CHECK(waits[0].call_end >= functions[0].end);
}

TEST_CASE("kernels that several workers share are one operation with one span") {
    const Stream s(cpu_device());
    Array<int> x = zeros<int>(s, 1 << 20);
    TimelineObserver observer({});
    for (int i = 0; i < 10; ++i) launch(s, Add{}, dim(x.size()), x, 1);
    s.synchronize();
    const Trace trace = observer.trace();
    const std::vector<TraceOp> launches = of_kind(trace, OpKind::launch);
    REQUIRE(launches.size() == 10);
    for (std::size_t i = 0; i < launches.size(); ++i) {
        CHECK(launches[i].start != unknown_moment);
        CHECK(launches[i].end >= launches[i].start);
        if (i != 0) CHECK(launches[i].start >= launches[i - 1].end);
    }
}

TEST_CASE("a copy of pageable memory has its call and its run, and the host's access none") {
    const Stream s(cpu_device());
    std::vector<int> host(1 << 16, 1);
    Array<int> x = empty<int>(s, host.size());
    TimelineObserver observer({});
    copy(s, x, host);
    s.synchronize();
    const Trace trace = observer.trace();
    const std::vector<TraceOp> copies = of_kind(trace, OpKind::copy);
    const std::vector<TraceOp> accesses = of_kind(trace, OpKind::host_access);
    REQUIRE(copies.size() == 1);
    REQUIRE(accesses.size() == 1);
    CHECK(copies[0].end != unknown_moment);
    CHECK(copies[0].start >= copies[0].call_begin);
    CHECK(accesses[0].call_begin >= copies[0].call_end);
}

TEST_CASE("a wait is recorded with what it waited for") {
    const Stream a(test_device()), b(test_device());
    TimelineObserver observer({});
    launch_host(b, [] {});
    const Event event = b.record_event();
    a.wait_event(event);
    const Trace trace = observer.trace();
    const std::vector<TraceOp> waits = of_kind(trace, OpKind::wait);
    const std::vector<TraceOp> records = of_kind(trace, OpKind::record);
    const std::vector<TraceOp> functions = of_kind(trace, OpKind::host_function);
    REQUIRE(waits.size() == 1);
    REQUIRE(records.size() == 1);
    REQUIRE(functions.size() == 1);
    CHECK(waits[0].event == records[0].event);
    CHECK(waits[0].generation == records[0].generation);
    REQUIRE(waits[0].other != no_index);
    CHECK(trace.streams[waits[0].other].id == b.id());
    CHECK(waits[0].other_position >= functions[0].position);
    a.synchronize();
}

TEST_CASE("the nodes of a launched graph have their times") {
    const Stream s(cpu_device());
    Array<int> x = zeros<int>(s, 10);
    Graph graph;
    {
        ScopedCapture capture(s);
        for (int i = 0; i < 3; ++i) launch(s, Add{}, dim(10), x, 1);
        graph = capture.end();
    }
    TimelineObserver observer({});
    graph.launch(s);
    graph.launch(s);
    s.synchronize();
    const Trace trace = observer.trace();
    const std::vector<TraceOp> launches = of_kind(trace, OpKind::graph_launch);
    REQUIRE(launches.size() == 2);
    REQUIRE(launches[0].graph != no_index);
    CHECK(launches[0].graph == launches[1].graph);
    const heddle::detail::TraceGraph& shape = trace.graphs.at(launches[0].graph);
    CHECK_FALSE(shape.is_batch);
    REQUIRE(shape.nodes.size() == 3);
    CHECK_THAT(trace.text(shape.nodes[0].name), contains("Add"));
    CHECK(shape.nodes[2].after == std::vector<std::uint32_t>{1});
    REQUIRE(trace.node_runs.size() == 6);
    for (const heddle::detail::TraceNodeRun& run : trace.node_runs) {
        const TraceOp& launched = launches[run.launch == launches[0].id ? 0 : 1];
        CHECK(run.launch == launched.id);
        CHECK(run.start >= launched.start);
        CHECK(run.end <= launched.end);
    }
}

TEST_CASE("what a capture records does not run, and what a batch records runs once") {
    const Stream s(cpu_device());
    Array<int> x = zeros<int>(s, 10);
    TimelineObserver observer({});
    {
        ScopedCapture capture(s);
        launch(s, Add{}, dim(10), x, 1);
        (void)capture.end();
    }
    Batch batch({.on_cpu = true});
    {
        ScopedBatch scope(batch, s);
        launch(s, Add{}, dim(10), x, 1);
    }
    s.synchronize();
    const Trace trace = observer.trace();
    const std::vector<TraceOp> launches = of_kind(trace, OpKind::launch);
    REQUIRE(launches.size() == 2);
    CHECK(launches[0].mode == OpMode::captured);
    CHECK(launches[0].start == unknown_moment);
    CHECK(launches[1].mode == OpMode::batched);
    CHECK(launches[1].start == unknown_moment);
    const std::vector<TraceOp> sent = of_kind(trace, OpKind::graph_launch);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].recording == launches[1].recording);
    CHECK(sent[0].end != unknown_moment);
    CHECK(trace.graphs.at(sent[0].graph).is_batch);
    CHECK(trace.node_runs.size() == 1);
}

TEST_CASE("what an abandoned batch recorded has not run, and is recorded as abandoned") {
    const Drained drained;
    const Stream s(cpu_device());
    Array<int> x = zeros<int>(s, 10);
    TimelineObserver observer({});
    Batch batch({.on_cpu = true});
    {
        ScopedBatch scope(batch, s);
        launch(s, Add{}, dim(10), x, 1);
        scope.flush();
        launch(s, Add{}, dim(10), x, 1);
        spoil_batch(s);
        CHECK_THROWS_AS(scope.end(), UsageError);
    }
    s.synchronize();
    const Trace trace = observer.trace();
    REQUIRE(of_kind(trace, OpKind::abandon).size() == 1);
    const std::vector<bool> abandoned = heddle::detail::abandoned_ops(trace);
    std::vector<bool> launches;
    for (std::size_t i = 0; i < trace.ops.size(); ++i)
        if (trace.ops[i].kind == OpKind::launch) launches.push_back(abandoned[i]);
    CHECK(launches == std::vector<bool>{false, true});
    CHECK(trace.node_runs.size() == 1);
    const heddle::detail::Solution solution = heddle::detail::solve(trace);
    for (const heddle::detail::Bar& bar : solution.bars) CHECK_FALSE(abandoned[bar.op]);
    CHECK(solution.bars.size() == 2);  // one for the batch and one for its node
}

TEST_CASE("the nodes of bodies have their times, one for each pass") {
    const Here here;
    Array<int> x = zeros<int>(10), left = full<int>(1, 3);
    TimelineObserver observer({});
    Graph graph;
    {
        ScopedCapture capture(here.stream);
        capture_while(left, [&] {
            launch(Add{}, dim(10), x, 1);
            launch(Add{}, dim(1), left, -1);
        });
        graph = capture.end();
    }
    graph.launch();
    here.stream.synchronize();
    const Trace trace = observer.trace();
    const std::vector<TraceOp> launches = of_kind(trace, OpKind::graph_launch);
    REQUIRE(launches.size() == 1);
    const heddle::detail::TraceGraph& shape = trace.graphs.at(launches[0].graph);
    REQUIRE(shape.nodes.size() == 3);
    CHECK(shape.nodes[0].inside == no_index);
    CHECK(shape.nodes[1].inside == 0);
    CHECK(shape.nodes[2].inside == 0);
    if (!test_device().is_cpu()) return;
    std::map<std::uint32_t, int> runs;
    for (const heddle::detail::TraceNodeRun& run : trace.node_runs) {
        ++runs[run.node];
        CHECK(run.start >= launches[0].start);
        CHECK(run.end <= launches[0].end);
    }
    CHECK(runs == std::map<std::uint32_t, int>{{1, 3}, {2, 3}});
}

TEST_CASE("a dropped operation is recorded as dropped, without times") {
    const Stream s(cpu_device());
    poison(s);
    TimelineObserver observer({});
    launch_host(s, [] {});
    const Trace trace = observer.trace();
    const std::vector<TraceOp> dropped = of_kind(trace, OpKind::dropped);
    REQUIRE(dropped.size() == 1);
    CHECK(dropped[0].start == unknown_moment);
}

TEST_CASE("operations of several threads are recorded with their threads") {
    const Stream s(cpu_device());
    TimelineObserver observer({});
    observer.name_thread("first");
    launch_host(s, [] {});
    std::thread([&] {
        observer.name_thread("second");
        launch_host(s, [] {});
    }).join();
    std::thread([&] { launch_host(s, [] {}); }).join();
    const Trace trace = observer.trace();
    std::set<std::string> names;
    for (const TraceOp& op : of_kind(trace, OpKind::host_function))
        names.insert(trace.text(trace.threads.at(op.thread).name));
    CHECK(names.size() == 3);
    CHECK(names.count("first") == 1);
    CHECK(names.count("second") == 1);
    s.synchronize();
}

TEST_CASE("a full recording keeps the newest operations and says how many are lost") {
    const Stream s(cpu_device());
    TimelineObserver observer({.most_operations = 1000, .accesses = false});
    constexpr std::uint64_t count = 100'000;
    for (std::uint64_t i = 0; i < count; ++i) s.wait_stream(s);
    (void)s.record_event();
    const Trace trace = observer.trace();
    CHECK(trace.ops.size() >= 1000);
    CHECK(trace.ops.size() < 20'000);
    const std::uint64_t recorded = count + 2;  // in addition: the event's creation and its record
    CHECK(trace.lost_ops + trace.ops.size() == recorded);
    CHECK(of_kind(trace, OpKind::record).size() == 1);
    const std::vector<TraceOp> waits = of_kind(trace, OpKind::wait_elided);
    for (std::size_t i = 1; i < waits.size(); ++i)
        if (waits[i].position != waits[i - 1].position + 1) FAIL("a gap at " << i);
}

TEST_CASE("a recording with an enormous limit keeps all") {
    const Stream s(cpu_device());
    TimelineObserver observer({.most_operations = ~std::size_t{0} / 3 + 1, .accesses = false});
    for (int i = 0; i < 20'000; ++i) s.wait_stream(s);
    CHECK(observer.trace().lost_ops == 0);
}

TEST_CASE("two recordings at a time see the same") {
    const Stream s(cpu_device());
    TimelineObserver first({});
    launch_host(s, [] {});
    {
        TimelineObserver second({});
        launch_host(s, [] {});
        s.synchronize();
        CHECK(of_kind(second.trace(), OpKind::host_function).size() == 1);
    }
    launch_host(s, [] {});
    s.synchronize();
    const Trace trace = first.trace();
    CHECK(of_kind(trace, OpKind::host_function).size() == 3);
    for (const TraceOp& op : of_kind(trace, OpKind::host_function)) CHECK(op.end != unknown_moment);
}

TEST_CASE("many recordings at a time have one row for each thread") {
    std::vector<std::unique_ptr<TimelineObserver>> observers;
    for (int i = 0; i < 12; ++i)
        observers.push_back(
            std::make_unique<TimelineObserver>(TimelineObserver::Options{.most_operations = 100}));
    const Stream s(cpu_device());
    for (int i = 0; i < 3; ++i) s.wait_stream(s);
    for (const auto& observer : observers) {
        const Trace trace = observer->trace();
        CHECK(trace.threads.size() == 1);
        CHECK(of_kind(trace, OpKind::wait_elided).size() == 3);
    }
}

TEST_CASE("a call that takes longer than 32 bits of nanoseconds keeps its length") {
    TimelineObserver observer({});
    const std::int64_t begin = now_ns(), second = 1'000'000'000;
    for (const std::int64_t length : {4 * second, 5 * second, 3600 * second})
        observer.on_op({.kind = OpKind::synchronize,
                        .name = "synchronize",
                        .begin_ns = begin,
                        .end_ns = begin + length});
    const Trace trace = observer.trace();
    std::vector<std::int64_t> lengths;
    for (const TraceOp& op : of_kind(trace, OpKind::synchronize))
        lengths.push_back(op.call_end - op.call_begin);
    CHECK(lengths == std::vector<std::int64_t>{4 * second, 5 * second, 3600 * second});
}

TEST_CASE("a stopped recording records nothing more, and stays readable") {
    const Stream s(cpu_device());
    TimelineObserver observer({});
    launch_host(s, [] {});
    s.synchronize();
    observer.stop();
    launch_host(s, [] {});
    s.synchronize();
    CHECK(of_kind(observer.trace(), OpKind::host_function).size() == 1);
    observer.stop();
}

TEST_CASE("arrays have the names that were set") {
    const Stream s(cpu_device());
    TimelineObserver observer({});
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, 10);
    observer.name_memory(heddle::detail::allocation_of(heddle::detail::Access::block(x)), "halo");
    launch(s, AddTo{}, dim(10), x, y);
    const Trace trace = observer.trace();
    const std::vector<TraceOp> launches = of_kind(trace, OpKind::launch);
    REQUIRE(launches.size() == 1);
    REQUIRE(launches[0].accesses == 2);
    CHECK(trace.text(trace.accesses[launches[0].first_access].name) == "halo");
    CHECK(trace.text(trace.accesses[launches[0].first_access + 1].name).empty());
    s.synchronize();
}

TEST_CASE("ranges of the program are recorded with their thread") {
    TimelineObserver observer({});
    const std::int64_t begin = now_ns();
    observer.add_range(begin, begin + 5, "assembly");
    const Trace trace = observer.trace();
    REQUIRE(trace.ranges.size() == 1);
    CHECK(trace.text(trace.ranges[0].name) == "assembly");
    CHECK(trace.ranges[0].end - trace.ranges[0].begin == 5);
    REQUIRE(trace.threads.size() == 1);
    CHECK(trace.ranges[0].thread == 0);
}

TEST_CASE("threads enqueue while a recording is read") {
    const Drained drained;
    TimelineObserver observer({.most_operations = 2000});
    std::atomic<bool> stop{false};
    Threads threads(3, [&] {
        const Stream s(cpu_device());
        Array<int> x = zeros<int>(s, 10);
        while (!stop) {
            launch(s, Add{}, dim(10), x, 1);
            s.synchronize();
        }
    });
    std::size_t seen = 0;
    for (int i = 0; i < 50; ++i) {
        const Trace trace = observer.trace();
        seen += trace.ops.size();
        for (const TraceOp& op : trace.ops)
            if (op.name >= trace.strings.size() || op.file >= trace.strings.size() ||
                (op.stream != no_index && op.stream >= trace.streams.size()) ||
                op.first_access + op.accesses > trace.accesses.size())
                FAIL("an operation names what the trace does not hold");
    }
    stop = true;
    threads.join();
    CHECK(eventually([&] { return !observer.trace().ops.empty() || seen != 0; }));
}

TEST_CASE("what failed, what was dropped for it and what had not run are told apart") {
    const Drained drained;
    const Stream failing(cpu_device(), {.priority = 0, .name = "failing"}), held(cpu_device());
    const Gate gate;
    Array<int> x = zeros<int>(failing, 10);
    failing.synchronize();
    TimelineObserver observer({});
    Flag go;
    launch_host(failing, [go] {
        go.wait();
        throw std::runtime_error("on purpose");
    });
    for (int i = 0; i < 3; ++i) launch(failing, Add{}, dim(10), x, 1);
    go.set();
    CHECK_THROWS_AS(failing.synchronize(), WorkFailed);
    launch(failing, Add{}, dim(10), x, 1);
    gate.hold(held);
    for (int i = 0; i < 2; ++i) launch_host(held, [] {});
    const Trace trace = observer.trace();
    REQUIRE(of_kind(trace, OpKind::host_function).size() == 3);
    CHECK(of_kind(trace, OpKind::host_function)[0].result == RunResult::failed);
    for (const TraceOp& op : of_kind(trace, OpKind::launch)) {
        CHECK(op.result == RunResult::dropped);
        CHECK(op.start == unknown_moment);
    }
    const std::string summary =
        in_one_line(heddle::detail::summary_of(trace, heddle::detail::solve(trace)));
    INFO(summary);
    CHECK_THAT(summary, contains("2 operations had not run when the recording ended"));
    CHECK_THAT(summary, contains("An operation failed: "));
    CHECK_THAT(summary, contains("on failing (timeline/timeline_observer_test.cpp:"));
    CHECK_THAT(summary, contains("4 operations were dropped: their streams had failed."));
}

TEST_CASE("a recording keeps as many operations as its limit says, with their times") {
    const Drained drained;
    const Stream s(cpu_device());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, 10);
    s.synchronize();
    TimelineObserver observer({.most_operations = 5000});
    for (int i = 0; i < 20000; ++i) {
        launch(s, AddTo{}, dim(10), x, y);
        if (i % 500 == 0) s.synchronize();
    }
    s.synchronize();
    const Trace trace = observer.trace();
    CHECK(trace.ops.size() >= 5000);
    CHECK(trace.ops.size() < 6100);
    CHECK(trace.lost_ops > 0);
    for (const TraceOp& op : of_kind(trace, OpKind::launch)) CHECK(op.end != unknown_moment);
    const std::string summary = heddle::detail::summary_of(trace, heddle::detail::solve(trace));
    CHECK(summary.find("had not run") == std::string::npos);
    CHECK_THAT(summary, contains("not kept: there was no room for more"));
}

TEST_CASE("a copy to pageable memory tells that the host waits in it") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    std::vector<int> values(10);
    TimelineObserver observer({});
    copy(s, std::span<int>(values), x);
    s.synchronize();
    const Trace trace = observer.trace();
    const std::vector<TraceOp> waits = of_kind(trace, OpKind::blocked);
    const std::vector<TraceOp> copies = of_kind(trace, OpKind::copy);
    REQUIRE(waits.size() == 1);
    REQUIRE(copies.size() == 1);
    CHECK(waits[0].reason == WaitReason::copy);
    CHECK(waits[0].call_begin >= copies[0].call_begin);
    CHECK(waits[0].call_end <= copies[0].call_end);
    CHECK(waits[0].other_position == copies[0].position);
}

TEST_CASE("queries that answered \"not yet\" before \"complete\" are a wait") {
    const Drained drained;
    const Stream s(test_device());
    Gate gate(s);
    launch_host(s, [] {});
    const Event event = s.record_event();
    TimelineObserver observer({});
    const bool is_event = GENERATE(true, false);
    const auto asks = [&] { return is_event ? event.is_complete() : s.is_complete(); };
    CHECK_FALSE(asks());
    CHECK_FALSE(asks());
    SECTION("until they answer") {
        gate.open();
        CHECK(eventually(asks));
        const Trace trace = observer.trace();
        REQUIRE(of_kind(trace, OpKind::blocked).size() == 1);
        const TraceOp wait = of_kind(trace, OpKind::blocked)[0];
        CHECK(wait.other != no_index);
        CHECK(wait.call_begin < wait.call_end);
        CHECK(asks());  // no wait is needed
        CHECK(of_kind(observer.trace(), OpKind::blocked).size() == 1);
    }
    SECTION("for the observers of that time, not for later ones") {
        observer.stop();
        const TimelineObserver later({});
        const Event other(test_device());
        CHECK(of_kind(later.trace(), OpKind::blocked).empty());
    }
    SECTION("for nothing that is known, if the program does something else then") {
        const Event other(test_device());
        const Trace trace = observer.trace();
        REQUIRE(of_kind(trace, OpKind::blocked).size() == 1);
        CHECK(of_kind(trace, OpKind::blocked)[0].other == no_index);
        gate.open();
        CHECK(eventually(asks));
    }
}
