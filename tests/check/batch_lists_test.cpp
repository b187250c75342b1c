// Checks of batches, collectives and copies between devices. Also checks the checker's counts.
#include "check/engine.hpp"
#include "check/op_builder.hpp"

using namespace heddle_test;

TEST_CASE("check: batch_on_four_streams_with_events", "[check]") {
    Program p;
    const Memory x = p.array();
    p.mode = OpMode::batched;
    p.recording = 3;
    auto last = p.stream();
    p.write(last, x);
    for (int i = 0; i < 3; ++i) {
        const auto next = p.stream();
        p.wait(next, p.record(last));
        p.write(next, x);
        last = next;
    }
    CHECK(is_silent(p));
}

TEST_CASE("check: batch_abandoned_by_an_exception", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array(), sent = p.array();
    p.mode = OpMode::batched;
    p.recording = 3;
    p.write(a, sent);
    p.send_batch(a, 3);
    p.write(a, x);
    detail::CheckEngine engine;
    for (const CheckOp& op : p.ops) engine.add(op);
    engine.abandon(3);
    p.ops.clear();
    p.mode = OpMode::run;
    p.launch(b, {in(x), in(sent)});
    engine.add(p.ops.back());
    REQUIRE(engine.findings().size() == 1);
    CHECK(engine.findings()[0].allocation == sent.id);
}

TEST_CASE("check: nccl_internal_streams", "[check]") {
    Program p;
    const auto a = p.stream(1), b = p.stream(2);
    const Memory x = p.array(), y = p.array();
    for (std::uint64_t number = 1; number <= 20; ++number) {
        p.collective(a, number, 0, 2, {in(x), out(x)});
        p.collective(b, number, 1, 2, {in(y), out(y)});
        p.write(a, x);
        p.write(b, y);
    }
    CHECK(is_silent(p));
}

TEST_CASE("check: same_pair_is_counted_not_repeated", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    for (int i = 0; i < 10; ++i) {
        p.write(a, x);
        p.ops.back().site = 1;
        p.write(b, x);
        p.ops.back().site = 2;
    }
    detail::FindingLog log;
    for (const Finding& one : p.findings()) log.add(one);
    REQUIRE(log.entries().size() == 2);  // one race in each direction
    CHECK(log.entries()[0].seen == 10);
    CHECK(log.entries()[1].seen == 9);
}
