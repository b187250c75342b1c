// Checks of scopes, fork and join. These are represented by the waits that they enqueue.
#include "check/op_builder.hpp"

using namespace heddle_test;

TEST_CASE("check: a finding names the scope whose wait came too early", "[check]") {
    Program p;
    const auto outer = p.stream(), inner = p.stream();
    const Memory x = p.array();
    p.write(outer, p.array());
    p.reason = WaitReason::scope_enter;
    const Line enter = p.wait_stream(inner, outer);
    p.reason = WaitReason::user;
    p.write(outer, x);
    p.write(inner, x);
    const auto found = p.findings();
    REQUIRE(found.size() == 1);
    CHECK(found[0].order.reason == WaitReason::scope_enter);
    CHECK(found[0].order.wait == enter);
}

TEST_CASE("check: pipeline_of_three_stages", "[check]") {
    Program p;
    std::vector<Program::StreamName> stages{p.stream(), p.stream(), p.stream()};
    std::vector<Memory> slots{p.array(), p.array()};
    std::vector<Program::EventName> freed{p.event(), p.event()};
    p.reason = WaitReason::pipeline;
    for (std::size_t item = 0; item < 20; ++item) {
        p.wait(stages[0], freed[item % 2]);
        for (std::size_t stage = 0; stage < 3; ++stage) {
            if (stage > 0) p.wait(stages[stage], p.record(stages[stage - 1]));
            p.write(stages[stage], slots[item % 2]);
        }
        p.record(stages[2], freed[item % 2]);
    }
    CHECK(is_silent(p));
    p.write(stages[0], slots[0]);  // a stage of the pipeline uses another slot
    CHECK(races(p).size() == 1);
}

TEST_CASE("check: branches of one fork are told as such, and those of two are not", "[check]") {
    const bool is_one = GENERATE(true, false);
    Program p;
    const auto base = p.stream(), other = p.stream(), a = p.stream(), b = p.stream();
    const Memory x = p.array();
    const auto branch = [&](Program::StreamName stream, Program::EventName begin) {
        p.reason = WaitReason::fork;
        const Line line = p.wait(stream, begin);
        p.reason = WaitReason::user;
        return line;
    };
    const auto first = p.record(base);
    branch(a, first);
    Line second = branch(b, first);
    if (!is_one) second = branch(b, p.record(other));
    p.write(a, x);
    p.write(b, x);
    REQUIRE(p.findings().size() == 1);
    CHECK(p.findings()[0].fork == (is_one ? second : 0));
}
