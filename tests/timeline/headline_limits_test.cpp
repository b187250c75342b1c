// Limits at which the headline changes. Tests both sides of each limit, on a machine where only the
// listed costs and the work take time.
#include "timeline/solve/headline.hpp"

#include <string>

#include "catch.hpp"
#include "timeline/timed_trace.hpp"

using namespace heddle_test;

namespace {

constexpr TimedCosts nothing{.call = 0,
                             .order = 0,
                             .between = 0,
                             .start = 0,
                             .awake = 0,
                             .start_awake = 0,
                             .next = 0,
                             .cross = 0,
                             .wake = 0};

std::string headline_of(TimedTrace& made) {
    const Trace trace = made.finish();
    return headline(trace, solve(trace));
}

bool says(const std::string& headline, const std::string& part) {
    return headline.find(part) != std::string::npos;
}

TimedCosts with_wake(Moment wake) {
    TimedCosts costs = nothing;
    costs.wake = wake;
    return costs;
}

TimedCosts with_call(Moment call) {
    TimedCosts costs = nothing;
    costs.call = call;
    return costs;
}

}  // namespace

TEST_CASE("round trips are named from a fifth of the longest chain on", "[timeline]") {
    // 99 round trips of 100 us are a fifth of the time if 100 kernels run for 396 us each.
    const Moment runs = GENERATE(395 * us, 397 * us);
    TimedTrace t(with_wake(100 * us));
    const auto s = t.stream("s");
    for (int i = 0; i < 100; ++i) {
        t.launch(s, "k", runs, {.changes = {1}});
        t.synchronize(s);
    }
    const std::string headline = headline_of(t);
    INFO(headline);
    CHECK(says(headline, "the host waits between launches. 99 waits") == (runs < 396 * us));
}

TEST_CASE("a habit is what a program does four times", "[timeline]") {
    const int waits = GENERATE(3, 4);
    TimedTrace t(with_wake(100 * us));
    const auto s = t.stream("s");
    for (int i = 0; i < waits; ++i) {
        t.launch(s, "k", us, {.changes = {1}});
        t.synchronize(s);
    }
    t.launch(s, "k", us, {.changes = {1}});
    const std::string headline = headline_of(t);
    INFO(headline);
    CHECK(says(headline, "the host waits between launches") == (waits == 4));
}

TEST_CASE("copies of pageable memory are named from 64 KB on", "[timeline]") {
    const std::uint64_t bytes = GENERATE(65'535u, 65'536u);
    TimedTrace t(nothing);
    const auto s = t.stream("s");
    for (int i = 0; i < 10; ++i) {
        t.copy_from_pageable(s, 50 * us, {.writes = {1}, .reads = {2}, .bytes = bytes});
        t.launch(s, "k", 10 * us, {.changes = {1}});
    }
    const std::string headline = headline_of(t);
    INFO(headline);
    CHECK(says(headline, "copies of pageable memory") == (bytes == 65'536));
}

TEST_CASE("small operations are a habit from a hundred on", "[timeline]") {
    const int operations = GENERATE(99, 100);
    TimedTrace t(with_call(us));
    const auto s = t.stream("s");
    for (int i = 0; i < operations; ++i) t.launch(s, "k", us / 10, {.changes = {1}});
    const std::string headline = headline_of(t);
    INFO(headline);
    CHECK(says(headline, "small operations, enqueued one by one") == (operations == 100));
}

TEST_CASE("what the host did is what took most of its time", "[timeline]") {
    const Moment own = GENERATE(999, 1'001);  // few calls, each of which takes 1000 ns
    TimedTrace t(with_call(1'000));
    const auto s = t.stream("s");
    for (int i = 0; i < 50; ++i) {
        t.compute(own);
        t.launch(s, "k", 100, {.changes = {1}});
    }
    const std::string headline = headline_of(t);
    INFO(headline);
    CHECK(says(headline, "the host ran the program's own code") == (own > 1'000));
    CHECK(says(headline, "the host was in calls") == (own < 1'000));
}

TEST_CASE("the work is the biggest reason unless something else takes longer", "[timeline]") {
    const Moment own = GENERATE(990 * us, 1'010 * us);  // compared with 1000 us of work
    TimedTrace t(nothing);
    const auto s = t.stream("s");
    for (int i = 0; i < 50; ++i) {
        t.compute(own);
        t.launch(s, "k", 1'000 * us, {.changes = {1}});
        t.synchronize(s);
    }
    const std::string headline = headline_of(t);
    INFO(headline);
    CHECK((headline.find("The work itself is the biggest reason") == 0) == (own < 1'000 * us));
    CHECK((headline.find("The host is the biggest reason") == 0) == (own > 1'000 * us));
}

TEST_CASE("the next reason is told from a tenth of the longest chain on", "[timeline]") {
    const Moment own = GENERATE(110 * us, 112 * us);  // a tenth in addition to 1000 us is 111 us
    TimedTrace t(nothing);
    const auto s = t.stream("s");
    for (int i = 0; i < 50; ++i) {
        t.compute(own);
        t.launch(s, "k", 1'000 * us, {.changes = {1}});
        t.synchronize(s);
    }
    const std::string headline = headline_of(t);
    INFO(headline);
    CHECK(says(headline, "Next is launched late") == (own == 112 * us));
}

TEST_CASE("waits for too much are named from a fifth of the longest chain on", "[timeline]") {
    const Moment more = GENERATE(570 * us, 580 * us);  // a fifth is 575 of 2875 us
    TimedTrace t(nothing);
    const auto a = t.stream("a"), b = t.stream("b");
    for (int i = 0; i < 10; ++i) {
        t.launch(a, "needed", 300 * us, {.changes = {1}});
        t.launch(a, "more", more, {.changes = {2}});
        t.wait_stream(b, a);
        t.launch(b, "k", 2 * ms, {.changes = {3}, .reads = {1}});
        t.wait_stream(a, b);
    }
    const std::string headline = headline_of(t);
    INFO(headline);
    CHECK(says(headline, "waits for more than is needed") == (more > 575 * us));
}

TEST_CASE("one stream is named if a fifth of it could run beside the rest", "[timeline]") {
    const Moment shorter = GENERATE(99 * us, 101 * us);  // compared with work of 400 us
    TimedTrace t(nothing);
    const auto s = t.stream("s");
    for (int i = 0; i < 10; ++i) {
        t.launch(s, "long", 400 * us, {.changes = {1}});
        t.launch(s, "short", shorter, {.changes = {2}});
    }
    const std::string headline = headline_of(t);
    INFO(headline);
    CHECK(says(headline, "independent work is on one stream") == (shorter > 100 * us));
}

TEST_CASE("workers are late from 10 us on", "[timeline]") {
    TimedCosts costs = nothing;
    costs.cross = GENERATE(9'999, 10'000);
    TimedTrace t(costs);
    const auto a = t.stream("a"), b = t.stream("b");
    for (int i = 0; i < 20; ++i) {
        t.launch(a, "k", us, {.changes = {1}});
        t.wait_stream(b, a);
        t.launch(b, "k", us, {.changes = {1}});
        t.wait_stream(a, b);
    }
    const std::string headline = headline_of(t);
    INFO(headline);
    CHECK(says(headline, "Workers that woke up late") == (costs.cross == 10'000));
    CHECK(says(headline, "The latency of launches") == (costs.cross < 10'000));
}

TEST_CASE("one stream could take as much less as there are workers for", "[timeline]") {
    TimedTrace t(nothing);  // it has two workers
    const auto s = t.stream("s");
    for (int i = 0; i < 10; ++i)
        for (std::uint64_t chain = 1; chain <= 4; ++chain)
            t.launch(s, "k", 100 * us, {.changes = {chain}});
    const std::string headline = headline_of(t);
    INFO(headline);
    CHECK(says(headline, "its 40 operations could take 50 % (2.00 ms) of the longest chain less"));
}

TEST_CASE("workers are too few if all are busy for half of the time", "[timeline]") {
    // Two operations keep both workers busy in the 100 us before the third one begins.
    const Moment first = GENERATE(19 * us, 21 * us);
    TraceBuilder t;
    t.raw().devices[0].processors = 2;
    for (const auto& s : {t.stream("a"), t.stream("b")}) {
        t.launch(s, "k").called(0, 1).ran(1, first)->workers = 1;
        t.launch(s, "k").called(0, 1).ran(70 * us, 100 * us)->workers = 1;
    }
    t.launch(t.stream("c"), "late").called(0, 1).ran(100 * us, 101 * us)->workers = 1;
    const Trace trace = t.trace(0, 101 * us);
    const std::string text = headline(trace, solve(trace));
    INFO(text);
    CHECK(says(text, "Too few workers are the biggest reason") == (first > 20 * us));
}
