// Order by streams that wait for each other. A race is described by its kind and the places of its
// first and second operation in the list.
#include "check/engine.hpp"
#include "check/op_builder.hpp"

using namespace heddle_test;

using Kind = FindingKind;

TEST_CASE("check: readers_of_many_streams_do_not_conflict", "[check]") {
    Program p;
    const Memory x = p.array();
    for (int i = 0; i < 100; ++i) p.read(p.stream(), x);
    CHECK(is_silent(p));
}

TEST_CASE("check: many_readers_then_write_reports_each_unordered_stream_once", "[check]") {
    Program p;
    const Memory x = p.array();
    for (int i = 0; i < 5; ++i) {
        const auto reader = p.stream();
        p.read(reader, x);
        p.read(reader, x);
    }
    p.write(p.stream(), x);
    CHECK(races(p).size() == 5);
}

TEST_CASE("check: an elided wait may bring work that had completed when a stream was told of it",
          "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    SECTION("a wait for which nothing was enqueued") {
        p.wait_stream(b, a);
        p.ops.back().had_completed = true;
    }
    SECTION("the users of memory") { p.after_users(b, x); }
    p.elided_wait(c, b);
    p.write(c, x);
    CHECK(is_silent(p));
    p.write(a, p.array());
    p.wait_stream(b, a);
    const Line fault = p.elided_wait(c, b);
    CHECK(races(p) == Races{{Kind::elision_fault, 0, fault}});
}

TEST_CASE("check: stream_destroyed_slot_reused", "[check]") {
    Program p;
    const auto keeper = p.stream();
    const Memory x = p.array();
    for (int i = 0; i < 5000; ++i) {
        const auto s = p.stream();
        p.wait_stream(s, keeper);
        p.write(s, x);
        p.wait_stream(keeper, s);
        if (i % 10 == 0) p.synchronize(keeper);
    }
    detail::CheckEngine engine;
    for (const CheckOp& op : p.ops) engine.add(op);
    CHECK(engine.findings().empty());
    CHECK(engine.sizes().slots < 200);
    const Line write = p.write(p.stream(), x);
    CHECK(races(p).size() == 1);
    CHECK(races(p)[0].second == write);
}

TEST_CASE("check: a stream that was forgotten goes on", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    p.write(a, x);
    p.synchronize(a);
    for (int i = 0; i < 100; ++i) p.write(p.stream(), p.array());
    const Line write = p.write(a, x);
    const Line read = p.read(b, x);
    CHECK(races(p) == Races{{Kind::read_after_write, write, read}});
    p.ops.pop_back();
    p.wait_stream(b, a);
    p.read(b, x);
    CHECK(is_silent(p));
}

TEST_CASE("check: stream_destroyed_its_work_goes_on", "[check]") {
    Program p;
    const Memory x = p.array();
    const Line write = p.write(p.stream(), x);
    for (int i = 0; i < 100; ++i) p.write(p.stream(), p.array());
    const Line read = p.read(p.stream(), x);
    CHECK(races(p) == Races{{Kind::read_after_write, write, read}});
}

TEST_CASE("check: more streams than a dense clock has places", "[check]") {
    Program p;
    const auto last = p.stream();
    const Memory x = p.array(1000);
    for (std::uint64_t i = 0; i < 200; ++i) {
        const auto s = p.stream();
        p.write(s, x.part(i, 1));
        p.wait_stream(last, s);
    }
    p.write(last, x);
    CHECK(is_silent(p));
    const Line again = p.write(p.stream(), x);
    CHECK(races(p) == Races{{Kind::write_after_write, static_cast<Line>(again - 1), again}});
}
