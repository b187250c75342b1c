// Checks of batches, collectives and copies between devices. Also checks the checker's counts.
#include "check/engine.hpp"
#include "check/op_builder.hpp"

using namespace heddle_test;

using Kind = FindingKind;

TEST_CASE("check: batch_as_without_it", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    p.mode = OpMode::batched;
    p.recording = 3;
    p.write(a, x);
    p.read(a, x);
    p.mode = OpMode::run;
    p.send_batch(a, 3);
    p.synchronize(a);
    p.host_read(x);
    CHECK(is_silent(p));
}

TEST_CASE("check: batch_hides_a_race_by_its_join", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    p.mode = OpMode::batched;
    p.recording = 3;
    const Line write = p.write(a, x);
    const Line read = p.read(b, x);
    p.mode = OpMode::run;
    p.reason = WaitReason::batch;
    p.wait_stream(a, b);
    p.send_batch(a, 3);
    p.wait_stream(b, a);
    p.reason = WaitReason::user;
    const Line later = p.write(b, x);
    CHECK(races(p) ==
          Races{{Kind::read_after_write, write, read}, {Kind::write_after_write, write, later}});
    p.elided_wait(b, a);  // no fault, because of the batch's own wait
    CHECK(races(p).size() == 2);
}

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

TEST_CASE("check: all_reduce", "[check]") {
    Program p;
    const auto a = p.stream(1), b = p.stream(2);
    const Memory x = p.array(), y = p.array(), other = p.array();
    p.write(a, x);
    p.launch(b, {out(y), out(other)});
    p.collective(a, 5, 0, 2, {in(x), out(x)});
    p.collective(b, 5, 1, 2, {in(y), out(y)});
    p.read(a, other);  // the collective follows the write to `other`
    CHECK(is_silent(p));
}

TEST_CASE("check: a share may use what another share's stream made", "[check]") {
    Program p;
    const auto a = p.stream(1), b = p.stream(2);
    const Memory x = p.array(), y = p.array();
    p.write(b, x);
    p.collective(a, 5, 0, 2, {out(x)});
    p.collective(b, 5, 1, 2, {out(y)});
    CHECK(is_silent(p));
}

TEST_CASE("check: gradient_written_before_all_reduce_without_wait", "[check]") {
    Program p;
    const auto a = p.stream(1), b = p.stream(2), work = p.stream(1);
    const Memory x = p.array(), y = p.array();
    const Line write = p.write(work, x);
    const Line share = p.collective(a, 5, 0, 2, {in(x), out(x)});
    p.collective(b, 5, 1, 2, {in(y), out(y)});
    CHECK(races(p) == Races{{Kind::write_after_write, write, share}});
}

TEST_CASE("check: result_read_on_a_stream_that_is_no_share", "[check]") {
    Program p;
    const auto a = p.stream(1), b = p.stream(2), reader = p.stream(1);
    const Memory x = p.array(), y = p.array();
    const Line share = p.collective(a, 5, 0, 2, {out(x)});
    p.collective(b, 5, 1, 2, {out(y)});
    const Line read = p.read(reader, x);
    CHECK(races(p) == Races{{Kind::read_after_write, share, read}});
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

TEST_CASE("check: two_collectives_share_a_buffer", "[check]") {
    Program p;
    const auto a = p.stream(1), b = p.stream(2), c = p.stream(1), d = p.stream(2);
    const Memory x = p.array(), y = p.array(), z = p.array();
    const Line first = p.collective(a, 5, 0, 2, {out(x)});
    p.collective(b, 5, 1, 2, {out(y)});
    const Line second = p.collective(c, 6, 0, 2, {out(x)});
    p.collective(d, 6, 1, 2, {out(z)});
    CHECK(races(p) == Races{{Kind::write_after_write, first, second}});
}

TEST_CASE("check: shares that write one array", "[check]") {
    Program p;
    const auto a = p.stream(1), b = p.stream(2);
    const Memory x = p.array();
    const Line first = p.collective(a, 5, 0, 2, {out(x)});
    const Line second = p.collective(b, 5, 1, 2, {out(x)});
    CHECK(races(p) == Races{{Kind::write_after_write, first, second}});
}

TEST_CASE("check: shares of other processes are not seen", "[check]") {
    Program p;
    const auto a = p.stream(1), work = p.stream(1);
    const Memory x = p.array();
    p.write(work, x);
    p.collective(a, 5, 0, 2, {out(x)});
    p.collective(a, 6, 0, 2, {out(x)});
    REQUIRE(races(p).size() == 1);
    CHECK_FALSE(races(p)[0].is_certain);
}

TEST_CASE("check: same_pair_is_counted_not_repeated", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
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
