// Bars and arrows: when operations ran, and which operations they depended on.
#include "timeline/solve/solution.hpp"

#include <algorithm>

#include "catch.hpp"
#include "timeline/random_trace.hpp"

using namespace heddle_test;

namespace {

/// Returns the bar of an operation, or of a run of one of its nodes if `run` is set.
const Bar* bar_of(const Solution& solution, TraceIndex op, TraceIndex run = no_index) {
    for (const Bar& bar : solution.bars)
        if (bar.op == op && bar.run == run) return &bar;
    return nullptr;
}

const Arrow* arrow_of(const Solution& solution, TraceIndex wait) {
    for (const Arrow& arrow : solution.arrows)
        if (arrow.wait == wait) return &arrow;
    return nullptr;
}

}  // namespace

TEST_CASE("each operation that ran has a bar from its start to its end") {
    TraceBuilder t;
    const auto main = t.stream("main");
    const std::vector<TraceIndex> ran = {
        t.launch(main, "k").called(0, 1).ran(5, 10),
        t.copy(main, "host to device").called(1, 2).ran(10, 20),
        t.op(OpKind::fill, main).called(2, 3).ran(21, 22),
        t.host_function(main, "f").called(3, 4).ran(25, 30),
        t.op(OpKind::collective, main).called(4, 5).ran(30, 35),
        t.op(OpKind::allocate, main).called(5, 6).ran(35, 36),
    };
    t.op(OpKind::free, main).called(6, 7);
    t.op(OpKind::expose, main).called(7, 8).ran(40, 41);
    t.launch(main, "no times").called(8, 9);
    const Solution s = solve(t.trace(0, 50));
    REQUIRE(s.bars.size() == ran.size());
    for (std::size_t i = 0; i < ran.size(); ++i) {
        CHECK(s.bars[i].op == ran[i]);
        CHECK(s.bars[i].lane == 0);
        CHECK_FALSE(s.bars[i].start_is_deduced);
    }
    CHECK(s.bars[3].start == 25);
    CHECK(s.bars[3].end == 30);
    CHECK(s.rows[main].operations == 6);  // without times, an operation has not run
    CHECK(s.begin == 0);
    CHECK(s.end == 50);
}

TEST_CASE("a start that was not measured is deduced from what the operation needed") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    const auto first = t.launch(main, "first").called(2, 6).ended(50);
    const auto second = t.launch(main, "second").called(6, 8).ended(60);
    t.copy(up, "host to device").called(8, 9).ran(10, 80);
    t.wait(main, up).called(9, 10);
    const auto waited = t.launch(main, "waited").called(10, 12).ended(90);
    const auto late = t.launch(main, "late").called(95, 97).ended(99);
    const Solution s = solve(t.trace(0, 100));
    CHECK(bar_of(s, first)->start == 2);    // its call begins then
    CHECK(bar_of(s, second)->start == 50);  // the previous operation ends then
    CHECK(bar_of(s, waited)->start == 80);  // its wait ends then
    CHECK(bar_of(s, late)->start == 95);
    CHECK(bar_of(s, late)->start_is_deduced);
}

TEST_CASE("a deduced start is not after the end, even if clocks say so") {
    TraceBuilder t;
    const auto main = t.stream("main");
    const auto early = t.launch(main, "k").called(10, 12).ended(8);
    const auto unknown = t.launch(main, "k").ended(8);
    const Solution s = solve(t.trace(0, 20));
    CHECK(bar_of(s, early)->start == 8);
    CHECK(bar_of(s, unknown)->start == 8);
}

TEST_CASE("an operation that had not ended runs until the next one of its stream starts") {
    TraceBuilder t;
    const auto main = t.stream("main");
    const auto cut = t.launch(main, "cut").called(0, 1).ran(5, unknown_moment);
    t.launch(main, "next").called(1, 2).ran(30, 40);
    const auto hangs = t.launch(main, "hangs").called(2, 3).ran(50, unknown_moment);
    const Solution s = solve(t.trace(0, 100));
    CHECK(bar_of(s, cut)->end == 30);
    CHECK(bar_of(s, hangs)->end == 100);
}

TEST_CASE("captured operations have no bars and hold nothing up") {
    TraceBuilder t;
    const auto side = t.stream("side"), main = t.stream("main");
    t.launch(side, "captured").mode(OpMode::captured).called(0, 1).ran(2, 50);
    t.wait(main, side).mode(OpMode::captured).called(1, 2);
    t.launch(main, "k").called(2, 3).ran(5, 10);
    const Solution s = solve(t.trace(0, 20));
    CHECK(s.bars.size() == 1);
    CHECK(s.arrows.empty());
    CHECK(s.rows[side].operations == 0);
    CHECK(s.rows[main].operations == 1);
}

TEST_CASE("operations of a batch are shown once, as nodes of its launch") {
    TraceBuilder t;
    const auto main = t.stream("main");
    t.launch(main, "a").mode(OpMode::batched).called(0, 1).ran(10, 15);
    t.launch(main, "b").mode(OpMode::batched).called(1, 2).ran(15, 20);
    const auto sent = t.launch_graph(main, t.graph({"a", "b"}, true)).called(2, 4);
    const auto a = t.node_ran(sent, 0, 10, 15), b = t.node_ran(sent, 1, 15, 20);
    const Solution s = solve(t.trace(0, 30));
    REQUIRE(s.bars.size() == 3);
    CHECK(bar_of(s, sent)->start == 10);  // the batch's bar covers its nodes
    CHECK(bar_of(s, sent)->end == 20);
    CHECK(bar_of(s, sent)->lane == 0);
    CHECK(bar_of(s, sent, a)->lane == 1);
    CHECK(bar_of(s, sent, b)->lane == 1);
    CHECK(s.rows[main].operations == 1);
    CHECK(s.rows[main].busy == 10);
}

TEST_CASE("nodes of a graph that overlap have lanes of their own") {
    TraceBuilder t;
    const auto main = t.stream("main");
    const auto graph = t.launch_graph(main, t.graph({"a", "b", "c"})).called(0, 1).ran(5, 50);
    const auto a = t.node_ran(graph, 0, 5, 20), b = t.node_ran(graph, 1, 10, 30);
    const auto c = t.node_ran(graph, 2, 20, 60);
    const Solution s = solve(t.trace(0, 100));
    CHECK(bar_of(s, graph)->lane == 0);
    CHECK(bar_of(s, graph, a)->lane == 1);
    CHECK(bar_of(s, graph, b)->lane == 2);
    CHECK(bar_of(s, graph, c)->lane == 1);
    CHECK(bar_of(s, graph)->end == 60);
}

TEST_CASE("runs of nodes or launches that do not exist have no bars") {
    TraceBuilder t;
    const auto main = t.stream("main");
    const auto graph = t.launch_graph(main, t.graph({"a"})).called(0, 1).ran(5, 50);
    t.node_ran(graph, 1, 5, 20);
    t.node_ran(t.launch(main, "k"), 0, 5, 20);
    CHECK(solve(t.trace(0, 100)).bars.size() == 1);
}

TEST_CASE("operations are in the order of their positions, whoever told of them first") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    t.copy(up, "host to device").called(0, 1).ran(2, 40);
    const auto second = t.launch(main, "second").called(5, 6).ended(60);
    const auto wait = t.wait(main, up).called(4, 5);
    const auto first = t.launch(main, "first").called(0, 3).ended(20);
    std::swap(second->position, first->position);
    const Solution s = solve(t.trace(0, 100));
    CHECK(bar_of(s, first)->start == 0);
    CHECK(bar_of(s, second)->start == 40);
    CHECK(arrow_of(s, wait)->to == second);
}

TEST_CASE("operations of one stream that overlap have lanes of their own") {
    TraceBuilder t;
    const auto main = t.stream("main");
    t.launch(main, "primary").called(0, 1).ran(5, 20);
    t.launch(main, "dependent").called(1, 2).ran(18, 30);
    t.launch(main, "after").called(2, 3).ran(30, 40);
    const Solution s = solve(t.trace(0, 40));
    CHECK(s.bars[0].lane == 0);
    CHECK(s.bars[1].lane == 1);
    CHECK(s.bars[2].lane == 0);
    CHECK(s.rows[main].busy == 35);
}

TEST_CASE("arrows are drawn for waits only") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    const auto copy = t.copy(up, "host to device").called(0, 2).ran(5, 50);
    t.record(up, 7).called(2, 3);
    const auto wait = t.wait(main, up).called(3, 4);
    const auto kernel = t.launch(main, "k").called(4, 5).ran(55, 60);
    t.launch(main, "next").called(5, 6).ran(60, 70);
    t.op(OpKind::query, main).called(6, 7);
    const Solution s = solve(t.trace(0, 100));
    REQUIRE(s.arrows.size() == 1);
    CHECK(s.arrows[0].wait == wait);
    CHECK(s.arrows[0].from == copy);
    CHECK(s.arrows[0].to == kernel);
    CHECK(s.arrows[0].from_end == 50);
    CHECK(s.arrows[0].to_start == 55);
    CHECK(s.arrows[0].held_up);
    CHECK_FALSE(s.arrows[0].is_backwards);
}

TEST_CASE("a wait held up only what could have started earlier without it") {
    TraceBuilder t;
    const auto a = t.stream("a"), b = t.stream("b"), main = t.stream("main");
    t.launch(a, "a").called(0, 1).ran(2, 50);
    t.launch(b, "b").called(1, 2).ran(3, 60);
    t.launch(main, "before").called(2, 3).ran(4, 20);

    SECTION("of two waits the one that was satisfied last, or for the same operation the first") {
        const bool are_the_same = GENERATE(false, true);
        const auto first = t.wait(main, a).called(3, 4);
        const auto second = t.wait(main, are_the_same ? a : b).called(4, 5);
        t.launch(main, "k").called(5, 6).ran(61, 70);
        const Solution s = solve(t.trace(0, 100));
        CHECK(arrow_of(s, first)->held_up == are_the_same);
        CHECK(arrow_of(s, second)->held_up != are_the_same);
    }
    SECTION("not if the stream itself was busy for longer") {
        t.launch(main, "longer").called(3, 4).ran(20, 55);
        const auto wait = t.wait(main, a).called(4, 5);
        t.launch(main, "k").called(5, 6).ran(56, 70);
        CHECK_FALSE(arrow_of(solve(t.trace(0, 100)), wait)->held_up);
    }
    SECTION("not if the call came later") {
        const auto wait = t.wait(main, a).called(3, 4);
        t.launch(main, "k").called(40, 52).ran(56, 70);
        CHECK_FALSE(arrow_of(solve(t.trace(0, 100)), wait)->held_up);
    }
    SECTION("not if the wait was elided") {
        const auto wait = t.wait(main, a, OpKind::wait_elided).called(3, 4);
        const auto kernel = t.launch(main, "k").called(5, 6).ran(61, 70);
        const Solution s = solve(t.trace(0, 100));
        REQUIRE(arrow_of(s, wait) != nullptr);
        CHECK(arrow_of(s, wait)->to == kernel);
        CHECK_FALSE(arrow_of(s, wait)->held_up);
    }
}

TEST_CASE("a wait for an event means the record with its generation") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    const auto first = t.copy(up, "first").called(0, 1).ran(2, 20);
    t.record(up, 7, 1).called(1, 2);
    t.copy(up, "second").called(2, 3).ran(20, 40);
    t.record(up, 7, 2).called(3, 4);
    t.copy(up, "third").called(4, 5).ran(40, 60);
    const auto wait = t.wait_event(main, 7, 1).called(5, 6);
    wait->other = up;  // the record of the event is more exact
    wait->other_position = 100;
    t.launch(main, "k").called(6, 7).ran(21, 70);
    CHECK(arrow_of(solve(t.trace(0, 100)), wait)->from == first);
}

TEST_CASE("a captured record of an event is no record") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    t.copy(up, "host to device").called(0, 1).ran(2, 20);
    t.record(up, 7, 1).called(1, 2).mode(OpMode::captured);
    t.wait_event(main, 7, 1).called(5, 6);
    t.launch(main, "k").called(6, 7).ran(21, 70);
    CHECK(solve(t.trace(0, 100)).arrows.empty());
}

TEST_CASE("a wait for a wait leads to what that one waited for") {
    TraceBuilder t;
    const auto a = t.stream("a"), b = t.stream("b"), main = t.stream("main");
    const auto source = t.launch(a, "a").called(0, 1).ran(2, 50);
    const auto other = t.launch(b, "b").called(1, 2).ran(3, 10);
    t.wait(b, a).called(2, 3);
    t.record(b, 9).called(3, 4);
    const auto wait = t.wait_event(main, 9).called(4, 5);
    t.launch(main, "k").called(5, 6).ran(52, 60);
    const auto back = t.wait(a, b).called(6, 7);  // since `other`, b has only waited for a
    t.launch(a, "again").called(7, 8).ran(53, 60);
    const Solution s = solve(t.trace(0, 100));
    CHECK(arrow_of(s, wait)->from == source);
    CHECK(arrow_of(s, wait)->held_up);
    REQUIRE(arrow_of(s, back) != nullptr);
    CHECK(arrow_of(s, back)->from == other);
    CHECK_FALSE(arrow_of(s, back)->held_up);
}

TEST_CASE("a stream that waits for itself has no arrow") {
    TraceBuilder t;
    const auto main = t.stream("main");
    t.launch(main, "a").called(0, 1).ran(2, 50);
    t.wait(main, main, OpKind::wait_elided).called(1, 2);
    t.launch(main, "b").called(2, 3).ran(50, 60);
    CHECK(solve(t.trace(0, 100)).arrows.empty());
}

TEST_CASE("a host wait has an arrow from the last operation to the end of its call") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    const auto copy = t.copy(up, "host to device").called(0, 1).ran(2, 40);
    t.wait(main, up).called(1, 2);
    const auto satisfied = t.synchronize(up).called(42, 43);
    const auto through_wait = t.synchronize(main).called(3, 45);
    const Solution s = solve(t.trace(0, 100));
    CHECK_FALSE(arrow_of(s, satisfied)->held_up);
    const Arrow* const arrow = arrow_of(s, through_wait);
    REQUIRE(arrow != nullptr);
    CHECK(arrow->from == copy);
    CHECK(arrow->to == through_wait);
    CHECK(arrow->from_end == 40);
    CHECK(arrow->to_start == 45);
    CHECK(arrow->held_up);
}

TEST_CASE("a host wait for a device covers all that was enqueued there when it began") {
    TraceBuilder t;
    const auto cuda = t.cuda_device();
    const auto a = t.stream("a", cuda), b = t.stream("b", cuda), cpu = t.stream("cpu");
    t.launch(a, "a").called(0, 1).ran(2, 40);
    const auto last = t.launch(b, "b").called(1, 2).ran(3, 50);
    t.launch(cpu, "other device").called(2, 3).ran(4, 70);
    const auto wait = t.synchronize_device(cuda).called(5, 55);
    t.launch(a, "later").called(56, 57).ran(58, 90);
    const auto again = t.synchronize_device(cuda).called(60, 95);
    const Solution s = solve(t.trace(0, 100));
    CHECK(arrow_of(s, wait)->from == last);
    CHECK(arrow_of(s, again)->from_end == 90);
}

TEST_CASE("arrows that go backwards by less than the clocks' errors are counted") {
    TraceBuilder t;
    const auto cuda = t.cuda_device(TraceClock::events, 5);
    const auto up = t.stream("up", cuda), main = t.stream("main");
    t.copy(up, "host to device").called(0, 1).ran(2, 50);
    t.wait(main, up).called(1, 2);
    t.launch(main, "a little").called(2, 3).ran(46, 60);
    t.copy(up, "host to device").called(3, 4).ran(50, 90);
    t.wait(main, up).called(4, 5);
    t.launch(main, "too much").called(5, 6).ran(80, 95);
    const Solution s = solve(t.trace(0, 100));
    REQUIRE(s.arrows.size() == 2);
    CHECK(s.arrows[0].is_backwards);
    CHECK(s.arrows[1].is_backwards);
    CHECK(s.backward_arrows == 1);
}

TEST_CASE("dropped operations have no bars") {
    TraceBuilder t;
    const auto main = t.stream("main");
    t.op(OpKind::dropped, main, "k").called(0, 1).ran(2, 3);
    const Solution s = solve(t.trace(0, 10));
    CHECK(s.bars.empty());
    CHECK(s.rows[main].operations == 0);
    CHECK(s.critical.empty());
}

TEST_CASE("if the oldest operations were lost, the picture begins with what is left") {
    TraceBuilder t;
    const auto main = t.stream("main");
    t.launch(main, "k").called(1000, 1010).ran(1020, 1030);
    Trace trace = t.trace(0, 2000);
    CHECK(solve(trace).begin == 0);
    trace.lost_ops = 5;
    CHECK(solve(trace).begin == 1000);
    CHECK(solve(trace).end == 2000);
}

TEST_CASE("waits in a circle, as in damaged traces, are followed once") {
    TraceBuilder t;
    const auto a = t.stream("a"), b = t.stream("b");
    for (const auto& [waiter, other] : {std::pair(a, b), std::pair(b, a)}) {
        const auto wait = t.wait(waiter, other);
        wait->other_position = 100;
        t.launch(waiter, "k").called(1, 2).ran(5, 10);
    }
    const Solution s = solve(t.trace(0, 20));
    CHECK(s.bars.size() == 2);
    CHECK(s.arrows.size() <= 2);
}

TEST_CASE("an empty trace has an empty solution") {
    const Solution s = solve(Trace());
    CHECK(s.bars.empty());
    CHECK(s.begin == s.end);
}

namespace {

/// Finds by brute force when all work up to a position of a stream has ended, including all work
/// that its waits are ordered after.
class Oracle {
public:
    Oracle(const Trace& trace, const Solution& solution) : trace_(trace) {
        for (const Bar& bar : solution.bars)
            if (bar.run == no_index) ends_[bar.op] = bar.end;
    }

    Moment wait_ends(const TraceOp& wait) {
        if (wait.event != 0) {
            for (const TraceOp& op : trace_.ops)
                if (op.kind == OpKind::record && op.mode == OpMode::run && op.event == wait.event &&
                    op.generation == wait.generation)
                    return last_end(op.stream, op.position);
            return unknown_moment;
        }
        return last_end(wait.other, wait.other_position);
    }

private:
    Moment last_end(TraceIndex stream, std::uint64_t position) {
        const auto [known, is_new] = known_.try_emplace({stream, position}, unknown_moment);
        if (!is_new) return known->second;
        Moment last = unknown_moment;
        for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
            const TraceOp& op = trace_.ops[i];
            if (op.stream != stream || op.position > position || op.mode != OpMode::run) continue;
            if (op.kind == OpKind::synchronize) continue;
            if (op.kind == OpKind::wait) last = std::max(last, wait_ends(op));
            const auto end = ends_.find(static_cast<TraceIndex>(i));
            if (end != ends_.end()) last = std::max(last, end->second);
        }
        return known_[{stream, position}] = last;
    }

    const Trace& trace_;
    std::map<TraceIndex, Moment> ends_;
    std::map<std::pair<TraceIndex, std::uint64_t>, Moment> known_;
};

}  // namespace

TEST_CASE("a wait waited for what ended last of all that it is ordered after") {
    std::size_t compared = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        const Trace trace = RandomTrace(seed).sound();
        const Solution s = solve(trace);
        Oracle oracle(trace, s);
        for (const Arrow& arrow : s.arrows) {
            const TraceOp& wait = trace.ops[arrow.wait];
            if (wait.kind == OpKind::synchronize && wait.stream == no_index) continue;
            const Moment last = oracle.wait_ends(wait);
            // No arrow connects a stream with itself. If the waiting stream's own work ended last,
            // the arrow's source ended earlier.
            REQUIRE(arrow.from_end <= last);
            if (arrow.from_end != last) REQUIRE(wait.kind != OpKind::synchronize);
            compared += arrow.from_end == last;
        }
    }
    CHECK(compared > 1000);
}

TEST_CASE("bars are in order, do not overlap on a lane, and lie within the picture") {
    for (unsigned seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        RandomTrace random(seed);
        const Trace trace = seed % 2 == 0 ? random.sound() : random.damaged();
        const Solution s = solve(trace);
        std::map<std::pair<TraceIndex, std::uint32_t>, Moment> free;
        for (std::size_t i = 0; i < s.bars.size(); ++i) {
            const Bar& bar = s.bars[i];
            REQUIRE(bar.start <= bar.end);
            REQUIRE(bar.start >= s.begin);
            REQUIRE(bar.end <= s.end);
            REQUIRE(bar.stream < trace.streams.size());
            if (i > 0)
                REQUIRE(std::pair(s.bars[i - 1].stream, s.bars[i - 1].start) <=
                        std::pair(bar.stream, bar.start));
            const auto [lane, is_new] = free.try_emplace({bar.stream, bar.lane}, bar.end);
            if (!is_new) REQUIRE(lane->second <= bar.start);
            lane->second = bar.end;
        }
        for (const Arrow& arrow : s.arrows) {
            REQUIRE(arrow.wait < trace.ops.size());
            REQUIRE(arrow.from < trace.ops.size());
            REQUIRE(arrow.to < trace.ops.size());
            REQUIRE(arrow.is_backwards == (arrow.from_end > arrow.to_start));
        }
    }
}
