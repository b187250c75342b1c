// The summary's first sentence names the part of a slow program that should be improved.
#include "timeline/solve/solution.hpp"

#include <sstream>
#include <string>

#include "catch.hpp"
#include "timeline/trace_builder.hpp"

using namespace heddle_test;

namespace {

constexpr Moment us = 1000;

/// Returns the first sentences of the summary, on one line.
std::string headline_of(const Trace& trace) {
    std::istringstream text(summary_of(trace, solve(trace)));
    std::string words;
    for (std::string line; std::getline(text, line) && !line.empty();)
        words += (words.empty() ? "" : " ") + line;
    return words;
}

bool names_a_cause(const std::string& headline) {
    return headline.find("Fix first") != std::string::npos;
}

/// Two streams that run kernels in turn, because each kernel waits for the previous one.
struct Turns : TraceBuilder {
    TraceIndex a = stream("a"), b = stream("b");
    Moment called = 0, now = 20 * us;
    WaitReason reason = WaitReason::user;

    void run(TraceIndex stream, TraceIndex other, OpKind kind, std::uint64_t address,
             bool is_recorded = true) {
        wait(stream, other).called(called, called + 10).at("turns.cpp", 7).because(reason);
        const Op made = op(kind, stream, "k").called(called + 10, called + 20);
        made.ran(now, now + 10 * us).at("turns.cpp", 8);
        if (is_recorded) made.uses(address);
        called += 20;
        now += 10 * us;
    }
    Trace all() const { return trace(0, now); }
};

}  // namespace

TEST_CASE("the headline names host waits between launches") {
    TraceBuilder t;
    const auto main = t.stream("main");
    Moment now = 0;
    const Moment own = GENERATE(0, 40 * us);
    for (int i = 0; i < 20; ++i, now += own + 8 * us) {
        t.launch(main, "k").called(now, now + 2 * us).ran(now + 3 * us, now + 5 * us);
        t.synchronize(main).called(now + 2 * us, now + 8 * us).at("/home/user/src/loop.cpp", 21);
    }
    const std::string headline = headline_of(t.trace(0, now));
    if (own == 0)
        CHECK_THAT(headline, contains("Fix first: the host waits between launches. 19 waits, "
                                      "most at src/loop.cpp:21, and the launches after them take "
                                      "73 % (114 \u00b5s) of the longest chain."));
    else CHECK(headline.find("The host is the biggest reason") == 0);
}

TEST_CASE("the headline does not name a few host waits, or one launch that took long") {
    TraceBuilder t;
    const auto main = t.stream("main");
    Moment now = 0;
    for (int i = 0; i < 10; ++i, now += 110 * us) {
        const Moment late = i == 7 ? 900 * us : 0;
        t.launch(main, "k").called(now, now + us).ran(now + us + late, now + late + 100 * us);
        now += late;
        t.synchronize(main).called(now + us, now + 102 * us);
    }
    CHECK_FALSE(names_a_cause(headline_of(t.trace(0, now))));
}

TEST_CASE("the headline names copies of pageable memory") {
    TraceBuilder t;
    const auto main = t.stream("main");
    const bool is_pageable = GENERATE(true, false);
    Moment now = 0;
    for (int i = 0; i < 10; ++i, now += 60 * us) {
        t.copy(main, "host to device")
            .called(now, now + 50 * us)
            .ran(now + us, now + 49 * us)
            .at("read.cpp", 12);
        if (is_pageable)
            t.op(OpKind::host_access, no_index, "host reads")
                .called(now + 50 * us, now + 50 * us)
                .at("read.cpp", 12)
                .because(WaitReason::copy);
        t.launch(main, "k").called(now + 50 * us, now + 51 * us).ran(now + 52 * us, now + 58 * us);
    }
    const std::string headline = headline_of(t.trace(0, now));
    if (is_pageable)
        CHECK_THAT(headline, contains("Fix first: copies of pageable memory, most at "
                                      "read.cpp:12."));
    else CHECK_FALSE(names_a_cause(headline));
}

TEST_CASE("the headline names waits between streams that share no memory") {
    Turns t;
    SECTION("if they do not") {
        for (int i = 0; i < 5; ++i) {
            t.run(t.a, t.b, OpKind::launch, 0x1000);
            t.run(t.b, t.a, OpKind::launch, 0x2000);
        }
        CHECK_THAT(headline_of(t.all()),
                   contains("Fix first: waits that seem needless, most at turns.cpp:7 (a for "
                            "b)."));
    }
    SECTION("not if they do") {
        for (int i = 0; i < 5; ++i) {
            t.run(t.a, t.b, OpKind::launch, 0x1000);
            t.run(t.b, t.a, OpKind::launch, 0x1020);
        }
        CHECK_FALSE(names_a_cause(headline_of(t.all())));
    }
    SECTION("not if that is not known") {
        for (int i = 0; i < 5; ++i) {
            t.run(t.a, t.b, OpKind::launch, 0x1000);
            t.run(t.b, t.a, OpKind::launch, 0x2000, false);
        }
        CHECK_FALSE(names_a_cause(headline_of(t.all())));
    }
    SECTION("not if the program did not ask for them") {
        t.reason = WaitReason::data;
        for (int i = 0; i < 5; ++i) {
            t.run(t.a, t.b, OpKind::launch, 0x1000);
            t.run(t.b, t.a, OpKind::launch, 0x2000);
        }
        CHECK_FALSE(names_a_cause(headline_of(t.all())));
    }
    SECTION("not if the other stream waits for a third one") {
        const auto c = t.stream("c");
        for (int i = 0; i < 5; ++i) {
            t.run(t.a, t.b, OpKind::launch, 0x1000);
            t.run(c, t.a, OpKind::launch, 0x2000);
            t.run(t.b, c, OpKind::launch, 0x1000);
        }
        CHECK_FALSE(names_a_cause(headline_of(t.all())));
    }
}

TEST_CASE("the headline names copies and kernels that take turns") {
    Turns t;
    for (int i = 0; i < 5; ++i) {
        t.run(t.a, t.b, OpKind::copy, 0x1000);
        t.run(t.b, t.a, OpKind::launch, 0x1000);
    }
    CHECK_THAT(headline_of(t.all()), contains("Fix first: copies and kernels alternate."));
}

TEST_CASE("the headline counts waits while the critical path is at what they wait for") {
    TraceBuilder t;
    const auto main = t.stream("main"), down = t.stream("down");
    for (int i = 0; i < 5; ++i) {
        const Moment now = i * 100 * us;
        t.launch(main, "long").called(2 * i, 2 * i + 1).ran(now, now + 90 * us);
        t.launch(main, "last").called(2 * i + 1, 2 * i + 2).ran(now + 90 * us, now + 94 * us);
        t.wait(down, main).called(2 * i + 1, 2 * i + 2);
        t.copy(down, "device to host")
            .called(2 * i + 1, 2 * i + 2)
            .ran(now + 94 * us, now + 100 * us);
        t.wait(main, down).called(2 * i + 1, 2 * i + 2);
    }
    CHECK_FALSE(names_a_cause(headline_of(t.trace(0, 500 * us))));  // takes 10 % of the path
}

TEST_CASE("the headline counts waits within copies as waits") {
    TraceBuilder t;
    const auto main = t.stream("main");
    const bool is_told = GENERATE(true, false);
    Moment now = 0;
    for (int i = 0; i < 6; ++i, now += 100 * us) {
        t.launch(main, "k").called(now, now + us).ran(now + us, now + 90 * us);
        if (is_told) t.blocked(main, 1).called(now + us, now + 99 * us).because(WaitReason::copy);
        t.copy(main, "device to host")
            .called(now + us, now + 99 * us)
            .ran(now + 90 * us, now + 98 * us)
            .at("read.cpp", 12);
        t.op(OpKind::host_access, no_index, "host writes")
            .called(now + 99 * us, now + 99 * us)
            .at("read.cpp", 12)
            .because(WaitReason::copy);
    }
    const std::string headline = headline_of(t.trace(0, now));
    INFO(headline);
    CHECK((headline.find("The work itself is the biggest reason") == 0) == is_told);
    const std::string summary = summary_of(t.trace(0, now), solve(t.trace(0, now)));
    CHECK((summary.find("the host's thread main (copy), 6 waits") != std::string::npos) == is_told);
    if (is_told) CHECK_THAT(summary, contains("for   (place unknown)  k\n"));
    CHECK(names_a_cause(headline) != is_told);
}

TEST_CASE("the headline counts repeated queries as waits") {
    TraceBuilder t;
    const auto main = t.stream("main");
    Moment now = 0;
    for (int i = 0; i < 6; ++i, now += 100 * us) {
        t.launch(main, "k").called(now, now + us).ran(now + us, now + 95 * us);
        t.blocked(main).called(now + 2 * us, now + 94 * us);  // the last query before the work ends
    }
    const Trace trace = t.trace(0, now);
    CHECK(headline_of(trace).find("The work itself is the biggest reason") == 0);
    const Solution solution = solve(trace);
    CHECK(solution.backward_arrows == 0);
    CHECK(solution.critical.front().kind == CriticalStep::Kind::host);
    CHECK_THAT(summary_of(trace, solution), contains("the host's thread main, 6 waits"));
}

TEST_CASE("a round trip ends at the first launch after the wait") {
    TraceBuilder t;
    const bool is_on_cuda = GENERATE(true, false);
    const auto main = t.stream("main", is_on_cuda ? t.cuda_device() : 0);
    Moment now = 0;
    for (int i = 0; i < 6; ++i) {
        for (int k = 0; k < 100; ++k, now += 2 * us)
            t.launch(main, "k")
                .called(now, now + 2 * us)
                .ran(now + 2 * us, now + 3 * us)
                .at("loop.cpp", 5);
        t.synchronize(main).called(now, now + 2 * us).at("loop.cpp", 7);
        now += 2 * us;
    }
    const std::string headline = headline_of(t.trace(0, now));
    INFO(headline);
    CHECK_THAT(headline, contains("Fix first: small operations, enqueued one by one."));
    CHECK_THAT(headline, contains("most at loop.cpp:5"));
    CHECK_THAT(headline, contains(is_on_cuda ? "Use a graph or a batch to make fewer calls."
                                             : "Use larger operations, or a graph, to make fewer "
                                               "calls; on CPU devices, a batch records nothing"));
}

TEST_CASE("small copies of pageable memory are for no graph and no batch") {
    TraceBuilder t;
    const bool is_pageable = GENERATE(true, false);
    const auto main = t.stream("main", t.cuda_device());
    Moment now = 0;
    for (int i = 0; i < 600; ++i, now += 2 * us) {
        t.copy(main, "host to device")
            .called(now, now + 2 * us)
            .ran(now + 2 * us, now + 3 * us)
            .at("loop.cpp", 5)
            ->bytes = 4000;
        if (!is_pageable) continue;
        t.op(OpKind::host_access, no_index, "host reads")
            .called(now + us, now + 2 * us)
            .at("loop.cpp", 5)
            ->reason = WaitReason::copy;
    }
    const std::string headline = headline_of(t.trace(0, now));
    INFO(headline);
    CHECK_THAT(headline, contains("Fix first: small operations, enqueued one by one."));
    CHECK_THAT(headline, contains(is_pageable ? "Graphs and batches cannot contain copies of "
                                                "pageable memory: use pinned() memory."
                                              : "Use a graph or a batch to make fewer calls."));
}

TEST_CASE("small operations that the device starts slowly are enqueued one by one") {
    const Moment runs = GENERATE(us / 10, 2 * us);
    TraceBuilder t;
    const auto main = t.stream("main");
    Moment now = 200 * us;
    for (int i = 0; i < 1000; ++i, now += runs + us / 2)
        t.launch(main, "k").called(i * us / 10, (i + 1) * us / 10).ran(now, now + runs);
    const std::string headline = headline_of(t.trace(0, now));
    INFO(headline);
    const bool is_named =
        headline.find("small operations, enqueued one by one") != std::string::npos;
    CHECK(is_named == (runs < us));
}

TEST_CASE("round trips that take longer than usual count unless they are few") {
    const int long_ones = GENERATE(2, 30);
    TraceBuilder t;
    const auto main = t.stream("main");
    Moment now = 0;
    for (int i = 0; i < 200; ++i) {
        const Moment trip = i < long_ones ? 200 * us / long_ones : us / 10;
        t.launch(main, "k").called(now, now + trip).ran(now + trip, now + trip + us / 10);
        now += trip + us / 10;
        t.synchronize(main).called(now - us / 20, now);
    }
    const std::string headline = headline_of(t.trace(0, now));
    INFO(headline);
    const bool is_named = headline.find("the host waits between launches") != std::string::npos;
    CHECK(is_named == (long_ones == 30));
}

TEST_CASE("the headline names waits for a whole stream where an earlier event would do") {
    const bool needs_last = GENERATE(false, true), has_third = GENERATE(false, true);
    TraceBuilder t;
    const auto a = t.stream("a"), b = t.stream("b"), c = t.stream("c");
    Moment now = 20 * us;
    for (int i = 0; i < 6; ++i, now += 60 * us) {
        const Moment called = 10 * i;
        const auto launch = [&](TraceIndex stream, Moment from, Moment to, std::uint32_t line,
                                std::uint64_t address) {
            t.launch(stream, "k")
                .called(called, called + 1)
                .ran(now + from, now + to)
                .at("x.cpp", line)
                .uses(address);
        };
        launch(a, 0, 5 * us, 1, 0x1000);
        launch(a, 5 * us, 35 * us, 2, 0x2000);
        t.wait(b, a).called(called, called + 1).at("x.cpp", 3);
        launch(b, 35 * us, 60 * us, 4, needs_last ? 0x2000 : 0x1000);
        if (has_third) t.wait(c, b).called(called, called + 1).at("x.cpp", 5);
        t.wait(a, b).called(called, called + 1).at("x.cpp", 6);
    }
    const std::string headline = headline_of(t.trace(0, now));
    INFO(headline);
    if (needs_last || has_third) {
        CHECK_FALSE(names_a_cause(headline));
    } else {
        CHECK_THAT(headline,
                   contains("Fix first: waits for more than is needed, most at x.cpp:3 (b for a). "
                            "Of the awaited work, k at x.cpp:1 is needed last"));
    }
}

TEST_CASE("the headline names work on one stream that nothing orders") {
    struct Case {
        bool is_ordered, is_wide, is_on_cuda, holds_pointers;
    };
    const Case one = GENERATE(Case{false, false, false, false}, Case{true, false, false, false},
                              Case{false, true, false, false}, Case{false, false, true, false},
                              Case{false, false, false, true});
    TraceBuilder t;
    const auto s = t.stream("s", one.is_on_cuda ? t.cuda_device() : 0);
    Moment now = 2 * us;
    for (int i = 0; i < 20; ++i, now += 10 * us) {
        const auto k = t.launch(s, "k").called(i, i + 1).ran(now, now + 10 * us);
        k.uses(one.is_ordered ? 0x1000 : 0x1000 + 0x100 * static_cast<std::uint64_t>(i % 4));
        k->workers = one.is_wide ? 4 : 1;
        k->holds_pointers = one.holds_pointers;
    }
    const std::string headline = headline_of(t.trace(0, now));
    INFO(headline);
    const bool is_named =
        headline.find("independent work is on one stream, 's'") != std::string::npos;
    CHECK(is_named == (!one.is_ordered && !one.is_wide && !one.is_on_cuda && !one.holds_pointers));
}

TEST_CASE("the headline names no wait that a pointer or a node may need") {
    Turns t;
    const bool is_known = GENERATE(true, false), is_node = GENERATE(true, false);
    const TraceIndex graph = t.graph({"k"});
    TraceNode& node = t.raw().graphs[graph].nodes[0];
    for (int i = 0; i < 5; ++i) {
        t.run(t.a, t.b, OpKind::launch, 0x1000);
        t.run(t.b, t.a, is_node ? OpKind::graph_launch : OpKind::launch, 0x2000);
        TraceOp& last = t.raw().ops.back();
        if (is_node) {
            last.graph = graph;
            node.first_access = last.first_access;
            node.accesses = last.accesses;
            node.accesses_known = is_known;
        }
        last.holds_pointers = !is_node && !is_known;
    }
    CHECK((headline_of(t.all()).find("seem needless") != std::string::npos) == is_known);
}

TEST_CASE("the headline names workers of a CPU device that woke up late") {
    const bool is_cpu = GENERATE(true, false);
    TraceBuilder t;
    const auto s = t.stream("s", is_cpu ? 0 : t.cuda_device());
    for (int i = 0; i < 6; ++i)
        t.launch(s, "k").called(i, i + 1).ran((i + 1) * 100 * us, (i + 1) * 100 * us + 10 * us);
    const std::string headline = headline_of(t.trace(0, 700 * us));
    CHECK((headline.find("Workers that woke up late are the biggest reason") == 0) == is_cpu);
    CHECK((headline.find("The latency of launches is the biggest reason") == 0) == !is_cpu);
}
