// The summary's first sentence names what a slow program can mend.
#include "timeline/solve/solution.hpp"

#include <sstream>

#include "catch.hpp"
#include "timeline/trace_builder.hpp"

using namespace heddle_test;

namespace {

constexpr Moment us = 1000;

/// Returns the summary's first sentences as one line.
std::string headline_of(const Trace& trace) {
    std::istringstream text(summary_of(trace, solve(trace)));
    std::string words;
    for (std::string line; std::getline(text, line) && !line.empty();)
        words += (words.empty() ? "" : " ") + line;
    return words;
}

bool names_a_cause(const std::string& headline) {
    return headline.find("First to mend") != std::string::npos;
}

/// Two streams whose kernels take turns, as each waits for the other one.
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
        CHECK_THAT(headline, contains("First to mend: the host waits between launches. 19 waits, "
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
        CHECK_THAT(headline, contains("First to mend: copies of pageable memory, most at "
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
                   contains("First to mend: waits that seem needless, most at turns.cpp:7 (a for "
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
    CHECK_THAT(headline_of(t.all()), contains("First to mend: copies and kernels take turns."));
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
    CHECK_FALSE(names_a_cause(headline_of(t.trace(0, 500 * us))));  // 10 % of the path
}
