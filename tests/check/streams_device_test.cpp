// The checker on streams, events and scopes of the device under test.
#include "check/checked_streams.hpp"

#include <atomic>

using namespace heddle_test;
using check::RaceKind;

TEST_CASE("device: unordered_write_then_read_on_two_streams") {
    CheckedRun s;
    write(s.a, s.x);
    read(s.b, s.x, s.y);
    const check::Race race = s.checked.expect(RaceKind::read_after_write);
    CHECK(race.data == s.x.data());
    CHECK(race.second.argument == 0);
}

TEST_CASE("device: same_stream_needs_nothing") {
    CheckedRun s;
    write(s.a, s.x);
    read(s.a, s.x, s.y);
    write(s.a, s.y);
    s.checked.expect_silence();
}

TEST_CASE("device: wait_stream_orders") {
    CheckedRun s;
    write(s.a, s.x);
    s.b.wait_stream(s.a);
    read(s.b, s.x, s.y);
    s.checked.expect_silence();
}

TEST_CASE("device: two_branches_join") {
    const bool drops = GENERATE(false, true);
    CheckedRun s;
    write(s.a, s.x);
    s.b.wait_stream(s.a);
    s.c.wait_stream(s.a);
    read(s.b, s.x, s.y);
    read(s.c, s.x, s.z);
    s.a.wait_stream(s.b);
    if (!drops) s.a.wait_stream(s.c);
    write(s.a, s.x);
    if (drops) s.checked.expect(RaceKind::write_after_read);
    else s.checked.expect_silence();
}

TEST_CASE("device: chain_of_three_streams") {
    const int dropped = GENERATE(0, 1, 2);
    CheckedRun s;
    write(s.a, s.x);
    if (dropped != 1) s.b.wait_stream(s.a);
    write(s.b, s.y);
    if (dropped != 2) s.c.wait_stream(s.b);
    read(s.c, s.x, s.z);
    if (dropped == 0) s.checked.expect_silence();
    else s.checked.expect(RaceKind::read_after_write);
}

TEST_CASE("device: event_recorded_before_the_write") {
    CheckedRun s;
    const Event early = s.a.record_event();
    write(s.a, s.x);
    s.b.wait_event(early);
    read(s.b, s.x, s.y);
    CHECK_THAT(s.checked.expect(RaceKind::read_after_write).text, contains("is too early: "));
}

TEST_CASE("device: event_re_recorded_on_another_stream_before_the_wait") {
    CheckedRun s;
    Event event(s.a.device());
    write(s.a, s.x);
    event.record(s.a);
    event.record(s.c);
    s.b.wait_event(event);
    read(s.b, s.x, s.y);
    s.checked.expect(RaceKind::read_after_write);
}

TEST_CASE("device: event_re_recorded_after_the_wait_leaves_the_wait") {
    CheckedRun s;
    Event event(s.a.device());
    write(s.a, s.x);
    event.record(s.a);
    s.b.wait_event(event);
    event.record(s.c);
    read(s.b, s.x, s.y);
    s.checked.expect_silence();
}

TEST_CASE("device: event_never_recorded_waits_for_nothing") {
    CheckedRun s;
    Event event(s.a.device());
    s.b.wait_event(event);
    write(s.a, s.x);
    event.record(s.a);
    read(s.b, s.x, s.y);
    CHECK_THAT(s.checked.expect(RaceKind::read_after_write).text,
               contains("had no effect, because its event had not been recorded"));
}

TEST_CASE("device: a wait for nothing is told where something unseen may order the two, too") {
    std::atomic<int> ran{0};
    CheckedRun s;
    Event event(s.a.device());
    write(s.a, s.x);
    launch_host(s.a, [&] { ++ran; });  // may signal other work unseen
    s.b.wait_event(event);
    read(s.b, s.x, s.y);
    s.a.synchronize();
    CHECK(s.checked.end().possible == 1);
    REQUIRE(s.checked.races().size() == 1);
    CHECK_THAT(s.checked.races()[0].text,
               contains("had no effect, because its event had not been recorded"));
}

TEST_CASE("device: an event that was destroyed after the wait, and another in its place") {
    CheckedRun s;
    write(s.a, s.x);
    {
        const Event first = s.a.record_event();
        s.b.wait_event(first);
    }
    read(s.b, s.x, s.y);
    write(s.a, s.z);
    const Event second = s.c.record_event();  // may have the first event's address
    s.b.wait_event(second);
    read(s.b, s.z, s.y);
    CHECK(s.checked.expect(RaceKind::read_after_write).data == s.z.data());
}

TEST_CASE("device: many_readers_then_write_reports_each_unordered_stream_once") {
    CheckedStreams s;
    std::vector<Stream> readers(4);
    std::vector<Array<int>> sums;
    for (const Stream& r : readers) sums.push_back(zeros<int>(r, size));
    synchronize();
    Checked checked;
    write(s.a, s.x);
    for (std::size_t i = 0; i < readers.size(); ++i) {
        readers[i].wait_stream(s.a);
        read(readers[i], s.x, sums[i]);
    }
    s.a.wait_stream(readers[0]);
    write(s.a, s.x);
    CHECK(checked.end().certain == 1);  // one race: a single line enqueues all readers
}

TEST_CASE("device: transitive_through_a_stream_that_did_no_work") {
    CheckedRun s;
    write(s.a, s.x);
    s.b.wait_stream(s.a);
    s.c.wait_stream(s.b);
    read(s.c, s.x, s.y);
    s.checked.expect_silence();
}

TEST_CASE("device: elided_wait_counts_as_edge") {
    CheckedRun s;
    write(s.a, s.x);
    s.b.wait_stream(s.a);
    s.b.wait_stream(s.a);  // there is no new work to wait for
    read(s.b, s.x, s.y);
    s.checked.expect_silence();
}

TEST_CASE("device: more_than_255_events_between") {
    CheckedRun s;
    write(s.a, s.x);
    for (int i = 0; i < 300; ++i) s.b.wait_event(s.a.record_event());
    read(s.b, s.x, s.y);
    s.checked.expect_silence();
}

TEST_CASE("device: priority_streams_make_no_order") {
    CheckedStreams s;
    const auto priorities = s.a.device().priorities();
    const Stream urgent({.priority = priorities.greatest});
    Checked checked;
    write(urgent, s.x);
    read(s.a, s.x, s.y);
    checked.expect(RaceKind::read_after_write);
}

TEST_CASE("device: default_streams_of_two_threads_are_one") {
    CheckedRun s;
    write(default_stream(), s.x);
    std::thread([&] { read(default_stream(), s.x, s.y); }).join();
    s.checked.expect_silence();
    default_stream().synchronize();
}

TEST_CASE("device: new streams come after what the host waited for, and nothing else") {
    CheckedRun s;
    write(s.a, s.x);
    s.a.synchronize();
    const Stream after;
    read(after, s.x, s.y);
    after.synchronize();
    write(s.a, s.z);
    const Stream early;
    read(early, s.z, s.x);
    const check::Race race = s.checked.expect(RaceKind::read_after_write);
    CHECK(race.data == s.z.data());
}

TEST_CASE("device: stream_destroyed_its_work_goes_on") {
    CheckedRun s;
    {
        const Stream gone;
        write(gone, s.x);
    }
    read(s.a, s.x, s.y);
    s.checked.expect(RaceKind::read_after_write);
}

TEST_CASE("device: scope_enter_and_exit_waits") {
    CheckedStreams s;
    const ScopedStream outer(s.a);
    Checked checked;
    write(current_stream(), s.x);
    {
        const ScopedStream inner(s.b, {.wait_on_exit = true});
        write(current_stream(), s.x);
    }
    write(current_stream(), s.x);
    checked.expect_silence();
}

TEST_CASE("device: scopes without their waits") {
    const bool enters = GENERATE(false, true);
    CheckedStreams s;
    const ScopedStream outer(s.a);
    Checked checked;
    if (!enters) write(current_stream(), s.x);
    {
        const ScopedStream inner(s.b, {.wait_on_enter = enters, .wait_on_exit = !enters});
        write(current_stream(), s.x);
    }
    if (enters) write(current_stream(), s.x);
    checked.expect(RaceKind::write_after_write);
}

TEST_CASE("device: set_stream_with_wait and set_stream_without_wait") {
    const bool waits = GENERATE(false, true);
    CheckedStreams s;
    const ScopedStream outer(s.a);
    Checked checked;
    write(current_stream(), s.x);
    set_stream(s.b, {.wait = waits});
    write(current_stream(), s.x);
    set_stream(s.a);
    if (waits) checked.expect_silence();
    else checked.expect(RaceKind::write_after_write);
}

TEST_CASE("device: fork_join_disjoint_parts, fork_join_branches_share_a_part") {
    const bool share = GENERATE(false, true);
    CheckedRun s;
    write(s.a, s.x);
    fork_join(
        s.a, [&] { write(current_stream(), s.x.view().first(size / 2)); },
        [&] { write(current_stream(), s.x.view().last(size / 2 + (share ? 1 : 0))); });
    write(s.a, s.x);
    if (share) CHECK(s.checked.expect(RaceKind::write_after_write).bytes == sizeof(int));
    else s.checked.expect_silence();
}

TEST_CASE("device: stream_pool_lease_returned_and_taken") {
    const bool orders = GENERATE(false, true);
    CheckedStreams s;
    StreamPool pool(s.a.device());
    Checked checked;
    {
        const auto lease = pool.lease();
        write(lease, s.x);
        if (orders) s.a.wait_stream(lease);
    }
    read(s.a, s.x, s.y);
    {
        const auto again = pool.lease();
        if (orders) StreamRef(again).wait_stream(s.a);
        write(again, s.y);
    }
    if (orders) checked.expect_silence();
    else CHECK(checked.end().certain >= 1);
}

TEST_CASE("device: pipeline_of_three_stages") {
    CheckedStreams s;
    Checked checked({.strict = true});
    {
        Array<int> half[2] = {empty<int>(s.a, 1000), empty<int>(s.a, 1000)};
        Event loaded[2], worked[2], stored[2];
        s.b.wait_stream(s.a);
        s.c.wait_stream(s.a);
        Array<int> from = pinned<int>(4000), to = pinned<int>(4000);
        for (std::size_t i = 0; i < 4; ++i) {
            Array<int>& one = half[i % 2];
            if (i >= 2) s.a.wait_event(stored[i % 2]);
            copy(s.a, one, from.view().subview(i * 1000, 1000));
            loaded[i % 2] = s.a.record_event();
            s.b.wait_event(loaded[i % 2]);
            launch(s.b, Add{}, dim(1000), one, 1);
            worked[i % 2] = s.b.record_event();
            s.c.wait_event(worked[i % 2]);
            copy(s.c, to.view().subview(i * 1000, 1000), one);
            stored[i % 2] = s.c.record_event();
        }
        s.c.synchronize();
    }
    checked.expect_silence();
}
