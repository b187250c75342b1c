// Order by streams that wait for each other. A race is described by its kind and the places of its
// first and second operation in the list.
#include "check/engine.hpp"
#include "check/op_builder.hpp"

using namespace heddle_test;

using Kind = FindingKind;

TEST_CASE("check: unordered_write_then_read_on_two_streams", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.read(b, x);
    CHECK(races(p) == Races{{Kind::read_after_write, 1, 2}});
}

TEST_CASE("check: same_stream_needs_nothing", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.read(a, x);
    p.write(a, x);
    CHECK(is_silent(p));
}

TEST_CASE("check: wait_stream_orders", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    const Line wait = p.wait_stream(b, a);
    const Line read = p.read(b, x);
    CHECK(is_silent(p));
    CHECK(races(p.without(wait)) == Races{{Kind::read_after_write, 1, read}});
}

TEST_CASE("check: reads_check_last_write_not_first", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.wait_stream(b, a);
    const Line last = p.write(a, x);
    const Line read = p.read(b, x);
    CHECK(races(p) == Races{{Kind::read_after_write, last, read}});
}

TEST_CASE("check: two_branches_join", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array(), y = p.array();
    p.write(a, x);
    p.write(b, y);
    p.wait_stream(b, a);
    const Line wait = p.wait_stream(a, b);
    p.launch(a, {out(x), out(y)});
    CHECK(is_silent(p));
    CHECK(races(p.without(wait)) == Races{{Kind::write_after_write, 2, 5}});
}

TEST_CASE("check: chain_of_three_streams", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    const Line first = p.wait_stream(b, a);
    p.read(b, x);
    const Line second = p.wait_stream(c, b);
    p.write(c, x);
    CHECK(is_silent(p));
    CHECK(races(p.without(first)).size() == 2);
    CHECK(races(p.without(second)).size() == 2);
}

TEST_CASE("check: all_readers_are_checked_one_unordered", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream(), d = p.stream();
    const Memory x = p.array();
    p.read(a, x);
    const Line unordered = p.read(b, x);
    p.read(c, x);
    p.wait_stream(d, a);
    p.wait_stream(d, c);
    const Line write = p.write(d, x);
    CHECK(races(p) == Races{{Kind::write_after_read, unordered, write}});
}

TEST_CASE("check: all_readers_ordered", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    const Memory x = p.array();
    p.read(a, x);
    p.read(b, x);
    p.wait_stream(c, a);
    p.wait_stream(c, b);
    p.write(c, x);
    CHECK(is_silent(p));
}

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

TEST_CASE("check: transitive_through_a_stream_that_did_no_work", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.wait_stream(b, a);
    p.wait_stream(c, b);
    p.read(c, x);
    CHECK(is_silent(p));
}

TEST_CASE("check: elided_wait_counts_as_edge", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    const Memory y = p.allocate(a);  // allocations need no wait, so the wait below is elided
    p.write(a, x);
    p.wait_stream(b, a);
    p.elided_wait(b, a);
    p.launch(b, {in(x), out(y)});
    CHECK(is_silent(p));
}

TEST_CASE("check: fault_in_elision_is_reported_as_heddles", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    p.write(a, p.array());
    p.wait_stream(b, a);
    p.elided_wait(b, a);
    CHECK(is_silent(p));
    p.write(a, p.array());
    const Line fault = p.elided_wait(b, a);
    CHECK(races(p) == Races{{Kind::elision_fault, 0, fault}});
    p.wait_stream(c, b);
    p.elided_wait(b, c);
    CHECK(races(p).size() == 1);  // c has waited for b's own work, and no other work
}

TEST_CASE("check: an elided wait may bring what needs no wait", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    p.write(a, p.array());
    p.wait_stream(b, a);
    p.wait_stream(c, b);
    p.record(a);
    p.allocate(a);
    p.elided_wait(b, a);
    p.elided_wait(c, b);
    CHECK(is_silent(p));
}

TEST_CASE("check: an elided wait that was needed for a third stream's work is a fault", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    p.write(b, p.array());
    p.wait_stream(c, b);
    p.write(a, p.array());
    p.wait_stream(b, a);
    const Line fault = p.elided_wait(c, b);
    CHECK(races(p) == Races{{Kind::elision_fault, 0, fault}});
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

TEST_CASE("check: waits for users of memory say nothing about other work", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.wait_stream(b, a);
    p.after_users(b, x);  // only b is ordered after the users
    const Line fault = p.elided_wait(c, b);
    CHECK(races(p) == Races{{Kind::elision_fault, 0, fault}});
}

TEST_CASE("check: an elided wait may say more than the thread knew", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    p.write(a, p.array());
    p.wait_stream(b, a);
    p.thread = 1;
    p.write(a, p.array());  // between the decision to elide and its notification
    p.thread = 0;
    p.elided_wait(b, a);
    CHECK(is_silent(p));
}

TEST_CASE("check: three_streams_two_write_one_waits_for_the_other_only", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.wait_stream(c, b);
    const Line write = p.write(c, x);
    CHECK(races(p) == Races{{Kind::write_after_write, 1, write}});
}

TEST_CASE("check: new_stream_is_not_ordered_after_unfinished_work", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.read(p.stream(), x);
    CHECK(races(p) == Races{{Kind::read_after_write, 1, 2}});
}

TEST_CASE("check: new_stream_is_ordered_after_what_the_host_waited_for", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.synchronize(a);
    p.read(p.stream(), x);
    CHECK(is_silent(p));
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

TEST_CASE("check: a wait for a stream that was destroyed may mean any", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.wait_stream(b, {});
    p.write(b, x);
    CHECK(is_silent(p));
}

TEST_CASE("check: a stream that was forgotten goes on", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
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
