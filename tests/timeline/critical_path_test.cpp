// The critical path: the longest chain of operations, each of which depended on the one before.
#include "timeline/solve/solution.hpp"

#include "catch.hpp"
#include "timeline/random_trace.hpp"

using namespace heddle_test;

namespace {

using Kind = CriticalStep::Kind;

/// A step of the path, for comparisons and for printing.
struct Step {
    Kind kind;
    TraceIndex op;
    Moment begin, end;
    bool operator==(const Step&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
    const char* const kinds[] = {"runs", "waits", "host"};
    return out << kinds[static_cast<int>(step.kind)] << " " << step.op << ": " << step.begin << ".."
               << step.end;
}

using Path = std::vector<Step>;

Path operator+(Path path, const Path& more) {
    path.insert(path.end(), more.begin(), more.end());
    return path;
}

/// Returns the path for a launch: the host calls, then the operation waits, and then it runs.
Path launched(TraceIndex op, Moment from, Moment called, Moment start, Moment end) {
    return {{Kind::host, op, from, called},
            {Kind::waits, op, called, start},
            {Kind::runs, op, start, end}};
}

Path path_of(const Trace& trace) {
    Path path;
    for (const CriticalStep& step : solve(trace).critical)
        path.push_back({step.kind, step.op, step.begin, step.end});
    return path;
}

}  // namespace

TEST_CASE("the critical path goes along a stream that was never idle") {
    TraceBuilder t;
    const auto main = t.stream("main"), side = t.stream("side");
    const TraceIndex a = t.launch(main, "a").called(0, 1).ran(2, 20);
    const TraceIndex b = t.launch(main, "b").called(1, 2).ran(20, 50);
    t.launch(side, "short").called(2, 3).ran(4, 40);
    CHECK(path_of(t.trace(0, 60)) == (launched(a, 0, 1, 2, 20) + Path{{Kind::runs, b, 20, 50}}));
}

TEST_CASE("the critical path goes through the wait that was satisfied last") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    const TraceIndex copy = t.copy(up, "host to device").called(0, 1).ran(2, 50);
    t.launch(main, "a").called(1, 2).ran(3, 20);
    t.wait(main, up).called(2, 3);
    const TraceIndex b = t.launch(main, "b").called(3, 4).ran(53, 60);
    CHECK(path_of(t.trace(0, 60)) ==
          (launched(copy, 0, 1, 2, 50) + Path{{Kind::waits, b, 50, 53}, {Kind::runs, b, 53, 60}}));
}

TEST_CASE("the critical path goes along the host's thread to what held that up") {
    TraceBuilder t;
    const auto main = t.stream("main");
    const TraceIndex a = t.launch(main, "a").called(0, 1).ran(2, 20);
    const TraceIndex wait = t.synchronize(main).called(1, 22);
    const TraceIndex b = t.launch(main, "b").called(40, 42).ran(45, 60);
    CHECK(path_of(t.trace(0, 60)) == (launched(a, 0, 1, 2, 20) + Path{{Kind::waits, wait, 20, 22}} +
                                      launched(b, 22, 42, 45, 60)));
}

TEST_CASE("a host wait on another thread, or one that did not wait, holds no call up") {
    TraceBuilder t;
    const auto main = t.stream("main");
    t.launch(main, "a").called(0, 1).ran(2, 20);
    t.synchronize(main).called(1, 22).on_thread(t.thread("other"));
    t.synchronize(main).called(25, 26);
    const TraceIndex b = t.launch(main, "b").called(40, 42).ran(45, 60);
    CHECK(path_of(t.trace(0, 60)) == launched(b, 0, 42, 45, 60));
}

TEST_CASE("the critical path goes through the host function that enqueued an operation") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    const auto read = t.host_function(up, "read").called(0, 1).ran(3, 50);
    const TraceIndex kernel =
        t.launch(main, "k").from(read).on_thread(t.thread("worker")).called(30, 32).ran(35, 60);
    CHECK(path_of(t.trace(0, 60)) ==
          (launched(read, 0, 1, 3, 30) + launched(kernel, 30, 32, 35, 60)));
}

TEST_CASE("a call that was blocked while the stream ran does not lead away from the stream") {
    TraceBuilder t;
    const auto main = t.stream("main");
    const TraceIndex a = t.launch(main, "a").called(0, 2).ran(3, 500);
    const TraceIndex b = t.launch(main, "b").called(5, 510).ran(512, 600);
    CHECK(path_of(t.trace(0, 600)) ==
          (launched(a, 0, 2, 3, 500) + launched(b, 500, 510, 512, 600)));
}

TEST_CASE("the critical path begins with the first operation if nothing is known of its call") {
    TraceBuilder t;
    const auto main = t.stream("main");
    const TraceIndex a = t.launch(main, "a").ran(5, 20);
    CHECK(path_of(t.trace(0, 60)) == Path{{Kind::runs, a, 5, 20}});
}

TEST_CASE("operations that overlap count once") {
    TraceBuilder t;
    const auto main = t.stream("main");
    const TraceIndex a = t.launch(main, "a").called(0, 1).ran(1, 20);
    const TraceIndex b = t.launch(main, "b").called(1, 2).ran(15, 50);
    CHECK(path_of(t.trace(0, 60)) ==
          Path{{Kind::host, a, 0, 1}, {Kind::runs, a, 1, 15}, {Kind::runs, b, 15, 50}});
}

TEST_CASE("the critical path has no holes and ends with what ended last") {
    for (unsigned seed = 0; seed < 500; ++seed) {
        CAPTURE(seed);
        RandomTrace random(seed);
        const Trace trace = seed % 2 == 0 ? random.sound() : random.damaged();
        const Solution s = solve(trace);
        Moment last = s.begin;
        for (const Bar& bar : s.bars) last = std::max(last, bar.end);
        for (std::size_t i = 0; i < s.critical.size(); ++i) {
            const CriticalStep& step = s.critical[i];
            REQUIRE(step.begin < step.end);
            REQUIRE(step.op < trace.ops.size());
            if (i > 0) REQUIRE(step.begin == s.critical[i - 1].end);
        }
        if (s.critical.empty()) continue;
        REQUIRE(s.critical.front().begin >= s.begin);
        REQUIRE(s.critical.back().end == last);
    }
}
