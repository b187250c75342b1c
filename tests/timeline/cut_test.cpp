#include "timeline/file/cut.hpp"

#include "catch.hpp"

#include <vector>

#include "random.hpp"
#include "timeline/file/trace_check.hpp"
#include "timeline/sample_traces.hpp"
#include "timeline/solve/solution.hpp"
#include "timeline/trace_builder.hpp"

using heddle_test::Random;
using heddle_test::TraceBuilder;
using namespace heddle;
using namespace heddle::detail;

namespace {

std::vector<std::uint64_t> ids_of(const Trace& trace) {
    std::vector<std::uint64_t> ids;
    for (const TraceOp& op : trace.ops) ids.push_back(op.id);
    return ids;
}
using Ids = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a cut keeps what ran or was called in its stretch", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    t.launch(s, "ended before").called(0, 1).ran(10, 19);
    const auto into = t.launch(s, "runs into it").called(1, 2).ran(19, 21);
    const auto within = t.launch(s, "runs within it").called(2, 3).ran(21, 25);
    const auto called = t.launch(s, "is called within it").called(24, 26).ran(31, 32);
    const auto around = t.launch(t.stream("other"), "runs around it").called(3, 4).ran(5, 50);
    t.launch(s, "comes later").called(31, 32).ran(33, 34);
    const Trace trace = cut(t.trace(0, 100), 20, 30);
    CHECK(ids_of(trace) == Ids{into->id, within->id, called->id, around->id});
    CHECK(trace.begin == 20);
    CHECK(trace.end == 30);
    CHECK(trace.streams == t.raw().streams);
    CHECK(trace.strings == t.raw().strings);
}

TEST_CASE("calls and runs outside a cut's stretch become unknown", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    t.launch(s, "called before").called(0, 1).ran(22, 23);
    t.launch(s, "runs later").called(24, 26).ran(31, 32);
    const Trace trace = cut(t.trace(0, 100), 20, 30);
    REQUIRE(trace.ops.size() == 2);
    CHECK(trace.ops[0].call_begin == unknown_moment);
    CHECK(trace.ops[0].call_end == unknown_moment);
    CHECK(trace.ops[0].start == 22);
    CHECK(trace.ops[1].call_begin == 24);
    CHECK(trace.ops[1].start == unknown_moment);
    CHECK(trace.ops[1].end == unknown_moment);
    const Solution solution = solve(trace);
    CHECK(solution.begin == 20);
    CHECK(solution.end == 30);
}

TEST_CASE("a cut keeps the waits that hold up what runs in it", "[timeline]") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    t.copy(up, "old").called(0, 1).ran(2, 5);
    t.wait(main, up).called(1, 2);
    t.launch(main, "old").called(2, 3).ran(5, 9);
    const auto copy = t.copy(up, "copy").called(3, 4).ran(9, 22);
    const auto record = t.record(up, 1).called(4, 5);
    const auto wait = t.wait_event(main, 1).called(5, 6);
    t.synchronize(main).called(6, 6);  // the host wait delays no operation
    const auto hash = t.launch(main, "Hash").called(6, 7).ran(23, 29);
    t.launch(main, "later").called(7, 8).ran(40, 50);
    const Trace trace = cut(t.trace(0, 100), 20, 30);
    CHECK(ids_of(trace) == Ids{copy->id, record->id, wait->id, hash->id});
    const Solution solution = solve(trace);
    REQUIRE(solution.arrows.size() == 1);
    CHECK(trace.ops[solution.arrows[0].from].id == copy->id);
    CHECK(solution.arrows[0].held_up);
}

TEST_CASE("the critical path of a cut is within its picture", "[timeline]") {
    const Trace steps = heddle_test::trace_of_steps(400);
    for (Moment from = 0; from < 1'000'000; from += 50'000) {
        const Solution solution = solve(cut(steps, from, from + 100'000));
        for (const CriticalStep& step : solution.critical) {
            CHECK(step.begin >= solution.begin);
            CHECK(step.end <= solution.end);
        }
    }
}

TEST_CASE("a cut deduces the start of what has only an end", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main", t.cuda_device());
    t.launch(s, "before").called(0, 1).ended(15);
    const auto around = t.launch(s, "around").called(1, 2).ended(40);
    t.launch(s, "behind").called(2, 3).ended(60);
    CHECK(ids_of(cut(t.trace(0, 100), 20, 30)) == Ids{around->id});
}

TEST_CASE("a cut keeps what has not ended", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    const auto hangs = t.launch(s, "hangs").called(0, 1).ran(5, unknown_moment);
    CHECK(ids_of(cut(t.trace(0, 100), 20, 30)) == Ids{hangs->id});
}

TEST_CASE("a cut keeps a graph with the nodes that run in it", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    const auto launch = t.launch_graph(s, t.graph({"A", "B", "C"})).called(0, 1);
    t.node_ran(launch, 0, 5, 10);
    t.node_ran(launch, 1, 10, 25);
    t.node_ran(launch, 2, 35, 45);
    const Trace trace = cut(t.trace(0, 100), 20, 30);
    CHECK(ids_of(trace) == Ids{launch->id});
    REQUIRE(trace.node_runs.size() == 1);
    CHECK(trace.node_runs[0].node == 1);
    CHECK(trace.ops[0].start == 5);
    CHECK(trace.ops[0].end == 45);
    // Between the runs of two of its nodes, the graph counts as running, too.
    CHECK(ids_of(cut(t.trace(0, 100), 28, 30)) == Ids{launch->id});
}

TEST_CASE("a cut keeps the beginning of a host wait whose end it keeps", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    t.op(OpKind::synchronize_begin, s).called(1, 1);
    t.synchronize(s).called(1, 5);
    const auto begins = t.op(OpKind::synchronize_begin, s).called(10, 10);
    const auto ends = t.synchronize(s).called(10, 25);
    t.op(OpKind::synchronize_begin, s).called(40, 40);
    CHECK(ids_of(cut(t.trace(0, 100), 20, 30)) == Ids{begins->id, ends->id});
}

TEST_CASE("a cut keeps the ranges that overlap it", "[timeline]") {
    TraceBuilder t;
    t.range("before", 0, 19);
    t.range("around", 0, 50);
    t.range("at its end", 30, 31);
    t.range("behind", 31, 40);
    const Trace trace = cut(t.trace(0, 100), 20, 30);
    REQUIRE(trace.ranges.size() == 2);
    CHECK(trace.text(trace.ranges[0].name) == "around");
    CHECK(trace.text(trace.ranges[1].name) == "at its end");
}

TEST_CASE("a cut keeps the accesses of what it keeps", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    for (std::uint64_t i = 0; i < 6; ++i)
        t.raw().accesses.push_back(TraceBuilder::access(i, 1, AccessMode::read));
    const auto with = [&](Moment start, std::uint32_t first, std::uint32_t count) {
        const auto op = t.launch(s, "Hash").called(0, 1).ran(start, start + 1);
        op->first_access = first;
        op->accesses = count;
    };
    with(10, 0, 2);
    with(21, 3, 2);
    with(23, 4, 1);
    const Trace trace = cut(t.trace(0, 100), 20, 30);
    REQUIRE(trace.accesses.size() == 2);
    CHECK(trace.accesses[0].address() == 3);
    CHECK(trace.accesses[1].address() == 4);
    CHECK(trace.ops[0].first_access == 0);
    CHECK(trace.ops[1].first_access == 1);
}

TEST_CASE("a cut of any trace is a trace", "[timeline]") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Random random(seed);
        const Trace crowded = heddle_test::crowded_trace(random, 30);
        const Trace few = cut(crowded, 20, 30);
        CHECK_NOTHROW(check_trace(few));
        CHECK(cut(few, 20, 30) == few);
        CHECK_NOTHROW(check_trace(cut(heddle_test::random_trace(random, 30), -1000, 1000)));
    }
}

TEST_CASE("a cut of the whole keeps all", "[timeline]") {
    const Trace steps = heddle_test::trace_of_steps(200);
    CHECK(cut(steps, steps.begin, steps.end) == steps);
}
