// Checks of the host: waits, queries, its own accesses, threads, and failures.
#include "check/op_builder.hpp"

using namespace heddle_test;

using Kind = FindingKind;

TEST_CASE("check: host_reads_before_synchronize", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.synchronize(a);
    const Line write = p.write(a, x);
    const Line read = p.host_read(x);
    const auto found = p.findings();
    CHECK(races_of(found) == Races{{Kind::host_read_after_write, write, read}});
    CHECK(found[0].second.stream == 0);
    CHECK(found[0].order.kind == KnownOrder::Kind::host_wait);
    CHECK(found[0].order.wait == 3);
}

TEST_CASE("check: stream_synchronize", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    const Line wait = p.synchronize(a);
    p.host_write(x);
    CHECK(is_silent(p));
    CHECK(races(p.without(wait)) == Races{{Kind::host_write_after_write, 1, 4}});
}

TEST_CASE("check: event_synchronize", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    const auto event = p.record(a);
    p.synchronize(event);
    p.host_read(x);
    CHECK(is_silent(p));
}

TEST_CASE("check: event_synchronize_of_an_older_record", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    const auto event = p.record(a);
    const Line write = p.write(a, x);
    p.synchronize(event);
    const Line read = p.host_read(x);
    CHECK(races(p) == Races{{Kind::host_read_after_write, write, read}});
}

TEST_CASE("check: device_synchronize_covers_all_streams", "[check]") {
    Program p;
    const auto a = p.stream(1), b = p.stream(1), elsewhere = p.stream(2);
    const Memory x = p.array(), y = p.array();
    p.write(a, x.part(0, 50));
    p.write(b, x.part(50, 50));
    const Line other = p.write(elsewhere, y);
    p.synchronize_device(1);
    p.host_read(x);
    CHECK(is_silent(p));
    const Line read = p.host_read(y);
    CHECK(races(p) == Races{{Kind::host_read_after_write, other, read}});
}

TEST_CASE("check: query_loop_of_a_stream_is_a_wait", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.query(a);
    p.host_read(x);
    CHECK(is_silent(p));
}

TEST_CASE("check: query_loop_of_an_event_is_a_wait", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    const auto event = p.record(a);
    p.query(event);
    p.write(p.stream(), x);
    CHECK(is_silent(p));
}

TEST_CASE("check: synchronize_by_another_thread_counts", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.thread = 1;
    p.synchronize(a);
    p.thread = 0;
    p.write(b, x);
    CHECK(is_silent(p));
}

TEST_CASE("check: synchronize_while_another_thread_enqueues", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory x = p.array(), y = p.array();
    p.write(a, x);
    p.thread = 1;
    p.begin_synchronize(a);
    p.thread = 0;
    const Line during = p.write(a, y);
    p.thread = 1;
    p.end_synchronize();
    p.host_read(x);
    CHECK(is_silent(p));
    const Line read = p.host_read(y);  // the wait covers only earlier work
    CHECK(races(p) == Races{{Kind::host_read_after_write, during, read}});
}

TEST_CASE("check: waiting_for_one_stream_covers_what_it_waited_for", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    p.write(a, x);
    p.wait_stream(b, a);
    p.synchronize(b);
    p.host_write(x);
    CHECK(is_silent(p));
}

TEST_CASE("check: host_overwrites_pinned_source_of_a_copy_in_flight", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory pinned = p.array(), x = p.array();
    const Line copy = p.copy(a, x, pinned);
    const Line write = p.host_write(pinned);
    CHECK(races(p) == Races{{Kind::host_write_after_read, copy, write}});
}

TEST_CASE("check: pageable_source_may_be_overwritten_at_once", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory pageable = p.array(), x = p.array();
    p.copy(a, x, pageable);
    p.reason = WaitReason::copy;
    p.host_read(pageable);
    p.reason = WaitReason::user;
    p.host_write(pageable);
    p.copy(p.stream(), p.array(), pageable);
    CHECK(is_silent(p));
    p.host_write(x);
    CHECK(races(p).size() == 1);  // the copy's other side is in use
}

TEST_CASE("check: pageable memory of the program's own may be overwritten at once", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory pageable = p.array().raw();
    for (const auto stream : {a, b}) {
        p.copy(stream, pageable, p.array());
        p.reason = WaitReason::copy;
        p.host_write(pageable);
        p.reason = WaitReason::user;
    }
    p.host_write(pageable);
    CHECK(is_silent(p));
}

TEST_CASE("check: a copy to pageable memory is over when it returns", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array(), pageable = p.array().raw();
    p.write(a, x);
    p.copy(a, pageable, x);
    p.reason = WaitReason::copy;
    p.host_write(pageable);
    p.reason = WaitReason::user;
    p.write(b, x);
    p.host_write(pageable);
    CHECK(is_silent(p));
}

TEST_CASE("check: what comes after a memory's users comes after all known ones", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream(), c = p.stream();
    const Memory x = p.array(), y = p.array();
    p.write(a, x);
    p.wait_stream(b, a);
    p.read(b, x);
    p.after_users(c, x);
    p.write(c, x);
    p.write(a, y);
    p.after_users({}, y);  // the host waits
    p.write(b, y);
    CHECK(is_silent(p));
}

TEST_CASE("check: users that heddle does not know are not waited for", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.allocate(a);
    p.wait_stream(b, a);
    const Line write = p.write(a, x.raw());
    p.after_users(b, x);
    const Line later = p.write(b, x);
    CHECK(races(p) == Races{{Kind::write_after_write, write, later}});
}

TEST_CASE("check: pageable_destination_read_before_the_copy_is_waited_for", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory destination = p.array();
    const Line copy = p.copy(a, destination, p.array());
    const Line read = p.host_read(destination);
    CHECK(races(p) == Races{{Kind::host_read_after_write, copy, read}});
}

TEST_CASE("check: to_host_waits", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory host = p.array();
    p.copy(a, host, p.array());
    p.reason = WaitReason::copy;
    p.synchronize(a);
    p.reason = WaitReason::user;
    p.host_read(host);
    CHECK(is_silent(p));
}

TEST_CASE("check: managed_memory_after_synchronize", "[check]") {
    Program p;
    const auto a = p.stream();
    const Memory managed = p.array();
    p.write(a, managed);
    const Line wait = p.synchronize(a);
    p.host_read(managed);
    p.write(a, managed);
    CHECK(is_silent(p));
    CHECK(races(p.without(wait)).size() == 1);
}

TEST_CASE("check: host_write_then_launch_needs_nothing", "[check]") {
    Program p;
    const Memory x = p.array();
    p.host_write(x);
    p.read(p.stream(), x);
    CHECK(is_silent(p));
}

TEST_CASE("check: eight_threads_own_streams_own_parts", "[check]") {
    Program p;
    const Memory x = p.array(800);
    std::vector<Program::StreamName> streams;
    for (int i = 0; i < 8; ++i) streams.push_back(p.stream());
    for (int round = 0; round < 20; ++round)
        for (std::uint32_t i = 0; i < 8; ++i) {
            p.thread = i;
            p.write(streams[i], x.part(100 * i, 100));
        }
    CHECK(is_silent(p));
}

TEST_CASE("check: threads_hand_over_by_queue_and_event", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    p.thread = 1;
    p.write(a, x);
    const auto event = p.record(a);
    p.thread = 2;
    const Line wait = p.wait(b, event);
    p.read(b, x);
    CHECK(is_silent(p));
    CHECK(races(p.without(wait)).size() == 1);  // two threads without an event between them
}

TEST_CASE("check: poisoned_stream_drops_work", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array(), y = p.array();
    p.write(a, y);
    const Line dropped = p.add(OpKind::dropped, a);
    p.write(b, x);
    CHECK(is_silent(p));
    p.write(b, y);
    const auto found = p.findings();
    REQUIRE(found.size() == 1);
    CHECK_FALSE(found[0].is_certain);
    CHECK(found[0].leak == dropped);
}

TEST_CASE("check: work_after_clear_error", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    p.add(OpKind::dropped, a);
    const Line write = p.write(a, x);
    const Line read = p.read(b, x);
    CHECK(races(p) == Races{{Kind::read_after_write, write, read}});
}

TEST_CASE("check: started_in_the_middle", "[check]") {
    Program p;
    const auto a = p.stream(), b = p.stream();
    const Memory x = p.array();
    const auto event = p.event();
    p.write(a, x);
    p.record(a, event);
    p.wait_stream(b, a);
    p.ops.clear();  // earlier operations are unknown to the checker
    p.wait(b, event);
    p.elided_wait(b, a);
    p.end_synchronize();
    p.write(b, x);
    CHECK(is_silent(p));
    const Line write = p.write(a, x);
    CHECK(races(p) == Races{{Kind::write_after_write, static_cast<Line>(write - 1), write}});
}
