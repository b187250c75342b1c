// Notifications about the host: waits, queries, host functions, calls and times.
#include "core/base/host_function_mark.hpp"
#include "core/operation/calls.hpp"
#include "kernel_launches.hpp"
#include "operation/watch.hpp"

using namespace heddle_test;

TEST_CASE("a host wait is described when it begins and when it has ended") {
    const Stream s(test_device());
    launch_host(s, [] {});
    Watch watch;
    s.synchronize();
    const std::vector<Seen> all = watch.take();
    REQUIRE(of_kind(all, OpKind::synchronize_begin).size() == 1);
    REQUIRE(of_kind(all, OpKind::synchronize).size() == 1);
    CHECK(of_kind(all, OpKind::synchronize)[0].other == s.id());
}

TEST_CASE("a host wait covers what was enqueued when it began") {
    const Stream s(test_device());
    Gate gate;
    Watch watch;
    gate.hold(s);
    launch_host(s, [] {});
    const std::uint64_t covered = watch.take_only(OpKind::host_function).op.position;
    std::thread waiting([&] { s.synchronize(); });
    const bool has_begun = eventually([&] {
        for (const Seen& one : watch.take())
            if (one.kind == OpKind::synchronize_begin) return true;
        return false;
    });
    CHECK(has_begun);
    launch_host(s, [] {});
    const std::uint64_t later = watch.take_only(OpKind::host_function).op.position;
    gate.open();
    waiting.join();
    const Seen ended = watch.take_only(OpKind::synchronize);
    CHECK(ended.op.other_position >= covered);
    CHECK(ended.op.other_position < later);
    s.synchronize();
}

TEST_CASE("a query is described if it answers complete") {
    const Stream s(test_device());
    Gate gate(s);
    const Event event = s.record_event();
    Watch watch;
    CHECK_FALSE(s.is_complete());
    CHECK_FALSE(event.is_complete());
    CHECK(watch.take(OpKind::query).empty());
    gate.open();
    s.synchronize();
    watch.take();
    CHECK(s.is_complete());
    CHECK(watch.take_only(OpKind::query).other == s.id());
    CHECK(event.is_complete());
    CHECK(watch.take_only(OpKind::query).op.event.record == 1);
}

TEST_CASE("waits inside calls are described") {
    const Stream s(cpu_device());
    Array<int> x = pageable<int>(10);
    const ScopedStream in(s);
    Array<int> y = zeros<int>(s, 10);
    launch(s, CopyKernel{}, dim(10), x, y);  // on CPU devices, a pageable array may be an argument
    Watch watch;
    copy(s, y, x);
    const std::vector<Seen> all = watch.take();
    const std::vector<Seen> waits = of_kind(all, OpKind::synchronize);
    REQUIRE_FALSE(waits.empty());
    for (const Seen& wait : waits) CHECK(wait.op.reason == WaitReason::copy);
    s.synchronize();
}

TEST_CASE("synchronize_device names the device") {
    Watch watch;
    synchronize_device(test_device());
    const Seen wait = watch.take_only(OpKind::synchronize);
    CHECK(wait.op.device == test_device());
    CHECK(wait.stream == 0);
}

TEST_CASE("what a host function enqueues names the host function") {
    const Stream s(cpu_device()), other(cpu_device());
    Watch watch({.times = true});
    launch_host(s, [&] { launch_host(other, [] {}); });
    s.synchronize();
    other.synchronize();
    std::vector<Seen> all = watch.take();
    const std::vector<Seen> functions = of_kind(all, OpKind::host_function);
    REQUIRE(functions.size() == 2);
    const Seen& outer = functions[functions[0].stream == s.id() ? 0 : 1];
    const Seen& inner = functions[functions[0].stream == s.id() ? 1 : 0];
    CHECK(inner.op.parent == outer.op.id);
    CHECK(outer.op.parent == 0);
    std::size_t begun = 0;
    for (const Seen& one : of_kind(all, OpKind::host_function_begin))
        begun += one.op.parent == outer.op.id;
    CHECK(begun == 1);
}

TEST_CASE("begin times come if they are asked for, and not otherwise") {
    const Stream s(test_device());
    {
        Watch watch;
        launch_host(s, [] {});
        CHECK(watch.take_only(OpKind::host_function).op.begin_ns == 0);
    }
    Watch watch({.times = true});
    const auto clock = [] {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
            .count();
    };
    const std::int64_t before = clock();
    launch_host(s, [] {});
    const std::int64_t after = clock();
    const Seen seen = watch.take_only(OpKind::host_function);
    CHECK(seen.op.begin_ns >= before);
    CHECK(seen.op.end_ns >= seen.op.begin_ns);
    CHECK(seen.op.end_ns <= after);
    s.synchronize();
}

TEST_CASE("CPU devices tell when work ran, by its id") {
    const Stream s(cpu_device());
    Array<int> x = zeros<int>(s, 10);
    Gate gate;
    Watch watch({.times = true});
    gate.hold(s);
    launch(s, Add{}, dim(10), x, 1);
    const Seen launched = watch.take_only(OpKind::launch);
    CHECK(watch.runs().empty());
    gate.open();
    s.synchronize();
    const std::vector<OpRun> runs = watch.runs();
    const auto run = std::find_if(runs.begin(), runs.end(),
                                  [&](const OpRun& one) { return one.id == launched.op.id; });
    REQUIRE(run != runs.end());
    CHECK(run->node == -1);
    CHECK(run->start_ns >= launched.op.end_ns);
    CHECK(run->end_ns >= run->start_ns);
}

TEST_CASE("CPU devices tell when the nodes of a graph ran") {
    const Stream s(cpu_device());
    Array<int> x = zeros<int>(s, 10);
    Graph graph;
    {
        ScopedCapture capture(s);
        launch(s, Add{}, dim(10), x, 1);
        launch(s, Add{}, dim(10), x, 1);
        graph = capture.end();
    }
    Watch watch({.times = true});
    graph.launch(s);
    const Seen launched = watch.take_only(OpKind::graph_launch);
    s.synchronize();
    std::vector<OpRun> nodes(2);
    OpRun whole;
    std::size_t count = 0;
    for (const OpRun& run : watch.runs()) {
        if (run.id != launched.op.id) continue;
        ++count;
        if (run.node < 0) whole = run;
        else nodes.at(static_cast<std::size_t>(run.node)) = run;
    }
    CHECK(count == 3);
    CHECK(whole.start_ns <= nodes[0].start_ns);
    CHECK(nodes[0].end_ns <= nodes[1].start_ns);
    CHECK(nodes[1].end_ns <= whole.end_ns);
}

TEST_CASE("a kernel that a failure drops has no times") {
    const Stream s(cpu_device());
    poison(s);
    Watch watch({.times = true});
    launch_host(s, [] {});
    CHECK_THROWS(s.synchronize());
    CHECK(watch.runs().empty());
}

TEST_CASE("calls are told when they begin and end, also when they throw") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, 11);
    Watch watch({.calls = true});
    launch_host(s, [] {});
    CHECK_THROWS_AS(copy(s, x, y), UsageError);
    CHECK(watch.calls() == Strings{"launch_host", "end", "copy", "end"});
    s.synchronize();
}

TEST_CASE("work that a waiting thread runs knows nothing of the wait") {
    const detail::Because waits(WaitReason::copy);
    const detail::ShareMark shares(7, 1, 2);
    {
        const detail::InHostFunction runs;
        CHECK(detail::this_call().reason == WaitReason::user);
        CHECK(detail::this_call().shares == 0);
        const detail::RunsOperation parent(5);
        CHECK(detail::this_call().parent == 5);
    }
    CHECK(detail::this_call().reason == WaitReason::copy);
    CHECK(detail::this_call().collective == 7);
    CHECK(detail::this_call().parent == 0);
}

TEST_CASE("reads() and writes() take several arrays and views") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, 20), z = zeros<int>(s, 30);
    Watch watch;
    launch_host(s, [] {}, reads(x, y.first(5)), writes(z, x.last(2)));
    const Seen seen = watch.take_only(OpKind::host_function);
    REQUIRE(seen.accesses.size() == 4);
    const std::size_t bytes[] = {40, 20, 120, 8};
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(seen.accesses[i].bytes == bytes[i]);
        CHECK((seen.accesses[i].mode == AccessMode::read) == (i < 2));
    }
    s.synchronize();
}
