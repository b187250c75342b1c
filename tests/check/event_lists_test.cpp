// Order by events, and which record a wait refers to. A race is described by its kind and the
// places of its first and second operation in the list.
#include "check/engine.hpp"
#include "check/op_builder.hpp"

using namespace heddle_test;

using Kind = FindingKind;

TEST_CASE("check: event_recorded_before_the_write", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    const auto event = p.record(a);
    const Line write = p.write(a, x);
    const Line wait = p.wait(b, event);
    const Line read = p.read(b, x);
    const auto found = p.findings();
    CHECK(races_of(found) == Races{{Kind::read_after_write, write, read}});
    CHECK(found[0].order.kind == KnownOrder::Kind::wait);
    CHECK(found[0].order.record == 1);
    CHECK(found[0].order.wait == wait);
    CHECK(found[0].order.covered < found[0].first.position);
}

TEST_CASE("check: a wait that is noted after the next record means the one before", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    const Memory x = p.array();
    const auto event = p.event();
    p.write(a, x);
    p.record(a, event);
    p.wait(b, event);
    p.record(c, event);
    std::swap(p.ops[2], p.ops[3]);
    p.read(b, x);
    CHECK(is_silent(p));
}

TEST_CASE("check: event_never_recorded_waits_for_nothing", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    const auto event = p.event();
    const Line write = p.write(a, x);
    const Line wait = p.wait(b, event);
    const Line read = p.read(b, x);
    const auto found = p.findings();
    CHECK(races_of(found) == Races{{Kind::read_after_write, write, read}});
    CHECK(found[0].order.kind == KnownOrder::Kind::never_recorded);
    CHECK(found[0].order.wait == wait);
    CHECK(found[0].order.event == event.id);
}

TEST_CASE("check: event_destroyed_after_the_wait_was_enqueued", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    p.write(a, x);
    p.wait(b, p.record(a));  // later operations do not use this event
    for (int i = 0; i < 3000; ++i) p.record(a);
    p.read(b, x);
    CHECK(is_silent(p));
}

TEST_CASE("check: barrier_repeated_is_harmless", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    for (int i = 0; i < 50; ++i) {
        p.write(i % 2 == 0 ? a : b, x);
        p.wait_stream(a, b);
        p.wait_stream(b, a);
        p.wait_stream(a, b);
    }
    CHECK(is_silent(p));
}

TEST_CASE("check: more_than_255_events_between", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    p.write(a, x);
    const auto event = p.record(a);
    for (int i = 0; i < 300; ++i) p.wait(b, p.record(a));
    p.wait(b, event);
    p.read(b, x);
    CHECK(is_silent(p));
}

TEST_CASE("check: ten_thousand_orphaned_events_stay_cheap", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    const auto early = p.event();
    p.write(a, x);
    p.record(a, early);
    for (int i = 0; i < 10000; ++i) p.record(a);
    p.wait(b, early);  // the record was dropped, but its place is still known
    p.read(b, x);
    detail::CheckEngine engine;
    for (const CheckOp& op : p.ops) engine.add(op);
    CHECK(engine.findings().empty());
    CHECK(engine.sizes().events <= detail::most_events);
}

TEST_CASE("check: a forgotten event brings what its stream had waited for", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    const Memory x = p.array();
    p.write(c, x);
    p.wait_stream(a, c);
    const auto early = p.record(a);
    for (int i = 0; i < 10000; ++i) p.record(b);
    p.wait(b, early);
    p.write(b, x);
    CHECK(is_silent(p));
}

TEST_CASE("check: a forgotten event brings no more than its stream had done", "[check]") {
    auto [p, a, b, x] = TwoStreams{};
    const auto early = p.record(a);
    for (int i = 0; i < 10000; ++i) p.record(b);
    const Line write = p.write(a, x);
    p.wait(b, early);
    const Line read = p.read(b, x);
    CHECK(races(p) == Races{{Kind::read_after_write, write, read}});
}
