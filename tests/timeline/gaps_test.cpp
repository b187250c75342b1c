// Gaps: each has one reason. Gaps and bars together fill the row.
#include "timeline/solve/host_activity.hpp"
#include "timeline/solve/slow_calls.hpp"
#include "timeline/solve/solution.hpp"

#include <numeric>

#include "catch.hpp"
#include "timeline/random_trace.hpp"

using namespace heddle_test;

namespace {

constexpr Moment us = 1000;

/// A gap, in a form for comparing and printing.
struct Idle {
    Moment begin, end;
    GapReason reason;
    bool operator==(const Idle&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Idle& idle) {
    return out << idle.begin << ".." << idle.end << " " << to_string(idle.reason);
}

std::vector<Idle> idle_of(const Solution& solution, TraceIndex stream) {
    std::vector<Idle> found;
    for (const Gap& gap : solution.gaps)
        if (gap.stream == stream) found.push_back({gap.begin, gap.end, gap.reason});
    return found;
}

const Gap& gap_of(const Solution& solution, GapReason reason) {
    for (const Gap& gap : solution.gaps)
        if (gap.reason == reason) return gap;
    throw std::runtime_error("no gap has this reason");
}

/// A CUDA device, whose launches usually take 2 us.
struct Cuda : TraceBuilder {
    TraceIndex device = cuda_device();
    TraceIndex main = stream("main", device), other = stream("other", device);
    Moment now = 0;

    /// Launches kernels with typical call times.
    void warm_up(const std::string& kernel = "k") {
        for (int i = 0; i < 10; ++i, now += 10 * us)
            launch(main, kernel).called(now, now + 2 * us).ran(now + 3 * us, now + 10 * us);
    }
    /// Returns the last gap on the stream of a kernel that starts at 60 us. Until `end`, another
    /// stream runs an operation of kind `kind`.
    Idle idle_beside(OpKind kind, Moment end) {
        op(kind, other, "beside").called(0, 2 * us).ran(3 * us, end);
        launch(main, "k").called(2 * us, 4 * us).ran(60 * us, 110 * us);
        return idle_of(solve(trace(0, 110 * us)), main).back();
    }
};

}  // namespace

TEST_CASE("a stream without operations has had nothing enqueued") {
    TraceBuilder t;
    const auto used = t.stream("used"), unused = t.stream("unused");
    t.launch(used, "k").called(0, 1).ran(1, 40);
    const Solution s = solve(t.trace(0, 100));
    CHECK(idle_of(s, unused) == std::vector<Idle>{{0, 100, GapReason::nothing_enqueued}});
    CHECK(idle_of(s, used) ==
          std::vector<Idle>{{0, 1, GapReason::launched_late}, {40, 100, GapReason::after_last}});
    CHECK(s.rows[unused].idle[static_cast<std::size_t>(GapReason::nothing_enqueued)] == 100);
    CHECK(s.rows[used].busy == 39);
}

TEST_CASE("what starts after its call was launched late, and then by the latency of its launch") {
    TraceBuilder t;
    const auto main = t.stream("main");
    t.launch(main, "a").called(0, 2).ran(2, 10);
    const auto b = t.launch(main, "b").called(30, 35).ran(38, 50);
    const Solution s = solve(t.trace(2, 50));
    CHECK(idle_of(s, main) == std::vector<Idle>{{0, 2, GapReason::launched_late},
                                                {10, 35, GapReason::launched_late},
                                                {35, 38, GapReason::launch_latency}});
    CHECK(gap_of(s, GapReason::launch_latency).op == b);
}

TEST_CASE("what starts during its call was launched late until then") {
    TraceBuilder t;
    const auto main = t.stream("main");
    t.launch(main, "a").called(0, 2).ran(0, 10);
    t.launch(main, "b").called(30, 60).ran(40, 70);
    CHECK(idle_of(solve(t.trace(0, 70)), main) ==
          std::vector<Idle>{{10, 40, GapReason::launched_late}});
}

TEST_CASE("a stretch is cut where the call returned and where the wait was satisfied") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    t.launch(main, "a").called(0, 1).ran(1, 10);
    const auto copy = t.copy(up, "host to device").called(1, 2).ran(2, 40);
    const auto wait = t.wait(main, up).called(2, 3);
    const auto b = t.launch(main, "b").called(15, 20).ran(43, 50);
    const Solution s = solve(t.trace(1, 50));
    CHECK(idle_of(s, main) == std::vector<Idle>{{0, 1, GapReason::launched_late},
                                                {10, 20, GapReason::launched_late},
                                                {20, 40, GapReason::waited},
                                                {40, 43, GapReason::launch_latency}});
    const Gap& gap = gap_of(s, GapReason::waited);
    CHECK(gap.op == b);
    CHECK(gap.wait == wait);
    CHECK(gap.cause == copy);
}

TEST_CASE("a wait that was satisfied before makes no gap") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    t.copy(up, "host to device").called(0, 1).ran(1, 8);
    t.launch(main, "a").called(1, 2).ran(2, 10);
    t.wait(main, up).called(2, 3);
    t.launch(main, "b").called(3, 4).ran(12, 50);
    CHECK(idle_of(solve(t.trace(2, 50)), main).back() == Idle{10, 12, GapReason::launch_latency});
}

TEST_CASE("a wait for work outside of the recording takes what is left of a long stretch") {
    Cuda t;
    t.warm_up();
    const auto wait = t.wait_event(t.main, 99).called(t.now, t.now + us);
    t.launch(t.main, "k").called(t.now + us, t.now + 3 * us).ran(t.now + 80 * us, t.now + 90 * us);
    Trace trace = t.trace(0, t.now + 90 * us);
    const Solution s = solve(trace);
    CHECK(gap_of(s, GapReason::waited).wait == wait);
    CHECK(gap_of(s, GapReason::waited).cause == no_index);
    CHECK(gap_of(s, GapReason::waited).end == t.now + 80 * us);
    // If operations were lost, the event's record may be one of these.
    trace.lost_ops = 1;
    CHECK_THROWS(gap_of(solve(trace), GapReason::waited));
}

TEST_CASE("a call that takes ten times as long as usual was blocked") {
    Cuda t;
    t.warm_up();
    const Moment begin = t.now + 10 * us, end = begin + 500 * us;
    t.launch(t.main, "k").called(begin, end).ran(end + us, end + 10 * us);
    const Solution s = solve(t.trace(0, end + 10 * us));
    const Gap& gap = gap_of(s, GapReason::queue_full);
    CHECK(gap.begin == begin);
    CHECK(gap.end == end);
    const auto idle = idle_of(s, t.main);
    CHECK(idle.end()[-3] == Idle{t.now, begin, GapReason::launched_late});
    CHECK(idle.back() == Idle{end, end + us, GapReason::launch_latency});
}

TEST_CASE("a call that is slow, but not slow enough, was not blocked") {
    Cuda t;
    t.warm_up();
    const Moment took = GENERATE(15 * us, 49 * us);
    t.launch(t.main, "k").called(t.now, t.now + took).ran(t.now + took, t.now + took + us);
    CHECK_THROWS(gap_of(solve(t.trace(0, t.now)), GapReason::queue_full));
}

TEST_CASE("where most calls are blocked, they are still found") {
    Cuda t;
    t.warm_up();
    for (int i = 0; i < 60; ++i, t.now += 300 * us)
        t.launch(t.main, "k")
            .called(t.now, t.now + 200 * us)
            .ran(t.now + 202 * us, t.now + 280 * us);
    CHECK_NOTHROW(gap_of(solve(t.trace(0, t.now)), GapReason::queue_full));
}

TEST_CASE("the first launch of a kernel loads its code if its call is slow") {
    Cuda t;
    t.warm_up();
    const Moment begin = t.now + 5 * us, end = begin + 400 * us;
    const auto first = t.launch(t.main, "fresh").called(begin, end).ran(end + us, end + 2 * us);
    SECTION("and the later ones are not, or there are none") {
        if (GENERATE(false, true))
            t.launch(t.main, "fresh")
                .called(end + us, end + 3 * us)
                .ran(end + 4 * us, end + 5 * us);
        const Solution s = solve(t.trace(0, end + 10 * us));
        CHECK(gap_of(s, GapReason::loading_code).op == first);
        CHECK(gap_of(s, GapReason::loading_code).begin == begin);
        CHECK(gap_of(s, GapReason::loading_code).end == end);
        CHECK_THROWS(gap_of(s, GapReason::queue_full));
    }
    SECTION("but not if the later ones are as slow") {
        t.launch(t.main, "fresh")
            .called(end + us, end + 300 * us)
            .ran(end + 400 * us, end + 401 * us);
        CHECK_THROWS(gap_of(solve(t.trace(0, end)), GapReason::loading_code));
    }
}

TEST_CASE("a program whose every launch is the first of its kernel loads code, too") {
    Cuda t;
    for (int i = 0; i < 4; ++i, t.now += 1000 * us)
        t.launch(t.main, "k" + std::to_string(i))
            .called(t.now, t.now + 900 * us)
            .ran(t.now + 902 * us, t.now + 950 * us);
    const Solution s = solve(t.trace(0, t.now));
    CHECK(s.rows[t.main].idle[static_cast<std::size_t>(GapReason::loading_code)] == 3600 * us);
}

TEST_CASE("a CUDA stream that could not start while others' kernels ran found the device busy") {
    Cuda t;
    t.launch(t.other, "big").called(0, 2 * us).ran(3 * us, 100 * us);
    t.launch(t.main, "k").called(2 * us, 4 * us).ran(103 * us, 120 * us);
    const Solution s = solve(t.trace(0, 120 * us));
    CHECK(idle_of(s, t.main) == std::vector<Idle>{{0, 4 * us, GapReason::launched_late},
                                                  {4 * us, 100 * us, GapReason::device_busy},
                                                  {100 * us, 103 * us, GapReason::launch_latency}});
}

TEST_CASE("a CUDA device is not busy for a kernel because of a copy") {
    CHECK(Cuda().idle_beside(OpKind::copy, 100 * us) ==
          Idle{4 * us, 60 * us, GapReason::launch_latency});
}

TEST_CASE("a CUDA device is not busy if others' kernels ran for less than half of the time") {
    CHECK(Cuda().idle_beside(OpKind::launch, 31 * us) ==
          Idle{4 * us, 60 * us, GapReason::launch_latency});
    CHECK(Cuda().idle_beside(OpKind::launch, 60 * us) ==
          Idle{4 * us, 60 * us, GapReason::device_busy});
}

TEST_CASE("a launch takes some us, whatever else runs on a CUDA device") {
    Cuda t;
    t.launch(t.other, "big").called(0, 2 * us).ran(3 * us, 100 * us);
    t.launch(t.main, "k").called(2 * us, 4 * us).ran(9 * us, 20 * us);
    CHECK(idle_of(solve(t.trace(0, 110 * us)), t.main).at(1) ==
          Idle{4 * us, 9 * us, GapReason::launch_latency});
}

TEST_CASE("a CPU stream found no worker if all of them were busy") {
    TraceBuilder t;  // its device has 4 workers
    const auto main = t.stream("main");
    const auto a = t.stream("a");
    const auto graph = t.launch_graph(a, t.graph({"x", "y"})).called(0, 1).ran(2, 60);
    t.node_ran(graph, 0, 2, 55);
    t.node_ran(graph, 1, 2, 60);
    t.launch(t.stream("b"), "b").called(1, 2).ran(3, 70);
    const bool are_all_busy = GENERATE(true, false);
    if (are_all_busy) t.launch(t.stream("c"), "c").called(2, 3).ran(4, 50);
    t.launch(main, "k").called(3, 5).ran(57, 80);
    const Solution s = solve(t.trace(0, 80));
    if (are_all_busy)
        CHECK(idle_of(s, main) == std::vector<Idle>{{0, 5, GapReason::launched_late},
                                                    {5, 50, GapReason::no_worker},
                                                    {50, 57, GapReason::launch_latency}});
    else
        CHECK(idle_of(s, main) == std::vector<Idle>{{0, 5, GapReason::launched_late},
                                                    {5, 57, GapReason::launch_latency}});
}

TEST_CASE("an operation enqueued by a host function was launched late because of it") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    const auto function = t.host_function(up, "read").called(0, 1).ran(10, 60);
    const auto kernel = t.launch(main, "k").from(function).on_thread(t.thread("worker"));
    kernel.called(50, 52).ran(53, 70);
    const Trace trace = t.trace(0, 70);
    const Solution s = solve(trace);
    const Gap* late = nullptr;
    for (const Gap& gap : s.gaps)
        if (gap.op == kernel && gap.reason == GapReason::launched_late) late = &gap;
    REQUIRE(late != nullptr);
    CHECK(late->cause == function);
    CHECK(HostActivity(trace).during(*late) ==
          "host function read: not begun for 10 ns, its own code 40 ns (before (place unknown)), "
          "1 call 2 ns (the longest: launch at (place unknown))");
}

TEST_CASE("the host's own code, waits and calls during a gap are told in words") {
    TraceBuilder t;
    const auto main = t.stream("main");
    t.launch(main, "a").called(0, 2 * us).ran(3 * us, 10 * us).at("a.cpp", 10);
    t.synchronize(main).called(2 * us, 40 * us).at("a.cpp", 11);
    t.launch(main, "b").called(90 * us, 95 * us).ran(96 * us, 99 * us).at("a.cpp", 14);
    t.range("assembly", 45 * us, 85 * us);
    t.range("element", 50 * us, 51 * us);
    const Trace trace = t.trace(0, 100 * us);
    const Solution s = solve(trace);
    const HostActivity host(trace);
    CHECK(host.during(s.gaps[2]) ==
          "main: its own code 50.0 \u00b5s (from a.cpp:11 to a.cpp:14, in 'assembly'), "
          "synchronize 30.0 \u00b5s (a.cpp:11), 1 call 5.00 \u00b5s (the longest: launch at "
          "a.cpp:14)");
    CHECK(host.during(s.gaps.back()).empty());  // no operation follows
}

TEST_CASE("a thread's time is divided exactly between waits, calls and its own code") {
    for (unsigned seed = 0; seed < 100; ++seed) {
        CAPTURE(seed);
        RandomTrace random(seed);
        const Trace trace = seed % 2 == 0 ? random.sound() : random.damaged();
        const HostActivity host(trace);
        const HostStretch did = host.on(0, 100, 5000);
        if (trace.threads.empty()) continue;
        CHECK(did.waiting + did.calling + did.own == 4900);
    }
}

TEST_CASE("gap classes sum to the whole") {
    for (unsigned seed = 0; seed < 600; ++seed) {
        CAPTURE(seed);
        RandomTrace random(seed);
        const Trace trace = seed % 3 != 0 ? random.sound() : random.damaged();
        const Solution s = solve(trace);
        const HostActivity host(trace);
        REQUIRE(s.rows.size() == trace.streams.size());
        std::vector<Moment> covered(trace.streams.size(), s.begin);
        auto bar = s.bars.begin();
        std::vector<Moment> idle(trace.streams.size());
        for (const Gap& gap : s.gaps) {
            REQUIRE(gap.begin < gap.end);
            // If two gaps do not touch, bars cover the time between them.
            Moment& at = covered[gap.stream];
            while (bar != s.bars.end() && bar->stream < gap.stream) ++bar;
            for (; bar != s.bars.end() && bar->stream == gap.stream && bar->start < gap.begin;
                 ++bar) {
                if (bar->run != no_index) continue;
                REQUIRE(bar->start <= at);
                at = std::max(at, bar->end);
            }
            REQUIRE(at == gap.begin);
            at = gap.end;
            idle[gap.stream] += gap.end - gap.begin;
            (void)host.during(gap);
        }
        for (const RowTotals& row : s.rows) {
            const Moment sum = std::accumulate(row.idle.begin(), row.idle.end(), Moment{0});
            REQUIRE(sum == idle[row.stream]);
            REQUIRE(row.busy >= 0);
            REQUIRE(row.busy + sum == s.end - s.begin);
        }
    }
}

TEST_CASE("a large copy of pageable memory among small ones is not blocked by a queue") {
    const bool is_pageable = GENERATE(true, false);
    TraceBuilder t;
    const auto s = t.stream("s", t.cuda_device());
    Moment now = 0;
    for (int i = 0; i < 20; ++i) {
        const Moment length = i == 10 ? 900'000 : 10'000;
        t.copy(s, "host to device").called(now, now + length).ended(now + length).at("x.cpp", 1);
        if (is_pageable)
            t.op(OpKind::host_access, no_index, "host reads")
                .called(now + length, now + length)
                .at("x.cpp", 1)
                .because(WaitReason::copy);
        now += length + 100'000;
    }
    const Trace trace = t.trace(0, now);
    const SlowCalls slow(trace);
    bool is_blocked = false;
    for (TraceIndex i = 0; i < trace.ops.size(); ++i)
        is_blocked = is_blocked || slow.reason_of(i) == GapReason::queue_full;
    CHECK(is_blocked == !is_pageable);
}
