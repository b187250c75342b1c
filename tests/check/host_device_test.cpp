// The checker on memory that the host uses: accesses, waits and host functions.
#include <algorithm>
#include <array>
#include <future>

#include "check/checked_streams.hpp"

using namespace heddle_test;
using check::RaceKind;

namespace {

/// Memory that the host and the device can access. The device writes it.
struct HostStreams : CheckedStreams {
    Array<int> pin = pinned<int>(size);
    HostStreams() { synchronize(); }
};

/// Declares to the checker that the host reads.
void host_reads(const Array<int>& x) { (void)on_host(View<const int>(x.view())); }
void host_writes(Array<int>& x) { (void)on_host(x); }

}  // namespace

TEST_CASE("device: host_reads_before_synchronize, stream_synchronize") {
    const bool waits = GENERATE(false, true);
    HostStreams s;
    Checked checked;
    copy(s.a, s.pin, s.x);
    if (waits) s.a.synchronize();
    host_reads(s.pin);
    if (waits) {
        checked.expect_silence();
    } else {
        const check::Race race = checked.expect(RaceKind::read_after_write);
        CHECK(race.second.kind == OpKind::host_access);
        CHECK_THAT(race.text, contains("a.synchronize();"));
    }
}

TEST_CASE("device: event_synchronize, and of an older record") {
    const bool is_older = GENERATE(false, true);
    HostStreams s;
    Checked checked;
    Event event = s.a.record_event();
    copy(s.a, s.pin, s.x);
    if (!is_older) event.record(s.a);
    event.synchronize();
    host_reads(s.pin);
    if (is_older) checked.expect(RaceKind::read_after_write);
    else checked.expect_silence();
}

TEST_CASE("device: device_synchronize_covers_all_streams") {
    HostStreams s;
    Array<int> other = pinned<int>(size);
    Checked checked;
    copy(s.a, s.pin, s.x);
    copy(s.b, other, s.y);
    synchronize_device(s.a.device());
    host_reads(s.pin);
    host_reads(other);
    checked.expect_silence();
}

TEST_CASE("device: query loops of streams and events are waits, and one that answers no is none") {
    const int which = GENERATE(0, 1, 2);
    HostStreams s;
    Checked checked;
    Gate gate;
    if (which == 2) gate.hold(s.a);
    copy(s.a, s.pin, s.x);
    const Event event = s.a.record_event();
    if (which == 0) CHECK(eventually([&] { return s.a.is_complete(); }));
    if (which == 1) CHECK(eventually([&] { return event.is_complete(); }));
    if (which == 2) CHECK(!event.is_complete());
    host_reads(s.pin);
    if (which == 2) checked.expect(RaceKind::read_after_write);
    else checked.expect_silence();
}

TEST_CASE("device: synchronize_by_another_thread_counts") {
    HostStreams s;
    Checked checked;
    copy(s.a, s.pin, s.x);
    std::thread([&] { s.a.synchronize(); }).join();
    host_reads(s.pin);
    checked.expect_silence();
}

TEST_CASE("device: waiting_for_one_stream_covers_what_it_waited_for") {
    HostStreams s;
    Checked checked;
    copy(s.a, s.pin, s.x);
    s.b.wait_stream(s.a);
    s.b.synchronize();
    host_reads(s.pin);
    checked.expect_silence();
}

TEST_CASE("device: host_overwrites_pinned_source_of_a_copy_in_flight") {
    HostStreams s;
    Checked checked;
    copy(s.a, s.x, s.pin);
    host_writes(s.pin);
    checked.expect(RaceKind::write_after_read);
}

TEST_CASE("device: pageable_source_may_be_overwritten_at_once, to_host_waits") {
    HostStreams s;
    std::vector<int> from(size, 1);
    Checked checked({.strict = true});
    copy(s.a, s.x, from);
    from[0] = 2;
    (void)on_host(View<int>(from));
    CHECK(to_host(s.a, s.x)[0] == 1);
    host_reads(s.x);
    checked.expect_silence();
}

TEST_CASE("device: host_write_then_launch_needs_nothing") {
    HostStreams s;
    Checked checked;
    host_writes(s.pin);
    copy(s.a, s.x, s.pin);
    checked.expect_silence();
}

TEST_CASE("device: host functions that declare what they use") {
    const bool waits = GENERATE(false, true);
    HostStreams s;
    Checked checked;
    copy(s.a, s.pin, s.x);
    launch_host(s.a, [] {}, reads(s.pin));
    if (waits) s.b.wait_stream(s.a);
    wait_unseen(s.a);
    copy(s.b, s.pin, s.y);
    // Without the wait, the copy on b has a race with the first copy, too.
    if (waits) return checked.expect_silence();
    const check::Summary found = checked.end();
    CHECK(found.certain + found.possible >= 1);
}

TEST_CASE("device: host_function_fulfils_a_promise") {
    const bool is_said = GENERATE(false, true);
    HostStreams s;
    Checked checked({.strict = true});
    std::promise<void> told;
    copy(s.a, s.pin, s.x);
    launch_host(s.a, [&] {
        if (is_said) check::released(&told);
        told.set_value();
    });
    told.get_future().wait();
    if (is_said) check::acquired(&told);
    host_reads(s.pin);
    wait_unseen(s.a);
    const check::Summary found = checked.end();
    CHECK(found.certain == 0);
    CHECK(found.possible == (is_said ? 0 : 1));
    if (!is_said) CHECK_THAT(checked.races()[0].text, contains("POSSIBLE RACE"));
}

TEST_CASE("device: what another key released is not acquired") {
    HostStreams s;
    Checked checked({.strict = true});
    int one = 0, other = 0;
    std::promise<void> told;
    copy(s.a, s.pin, s.x);
    launch_host(s.a, [&] {
        check::released(&one);
        told.set_value();
    });
    told.get_future().wait();
    check::acquired(&other);
    host_reads(s.pin);
    wait_unseen(s.a);
    CHECK(checked.end().possible == 1);
}

TEST_CASE("device: released outside a host function, and acquired twice, are nothing") {
    HostStreams s;
    Checked checked;
    int key = 0;
    copy(s.a, s.pin, s.x);
    check::released(&key);
    check::acquired(&key);
    check::acquired(&key);
    host_reads(s.pin);
    checked.expect(RaceKind::read_after_write);
}

// A host function may run and enqueue work before observers are notified that it was enqueued.
TEST_CASE("device: host_function_enqueues_on_another_stream") {
    const Drained drained;
    const Stream to(cpu_device()), from;
    Array<int> x = zeros<int>(to, size), y = zeros<int>(to, size), z = zeros<int>(from, size);
    synchronize();
    Checked checked({.strict = true});
    for (int i = 0; i < 200; ++i) {
        launch_host(from, [&] { launch(to, AddTo{}, dim(size), x, y); }, writes(x));
        from.synchronize();
        to.synchronize();
    }
    for (int i = 0; i < 200; ++i) {
        Flag done;
        launch(from, Add{}, dim(size), z, 1);
        launch_host(from, [&, done] {
            launch(to, Add{}, dim(size), y, 1);
            (void)to.record_event();
            done.set();
        });
        REQUIRE(done.wait());
        to.synchronize();
    }
    synchronize();
    checked.expect_silence();
}

TEST_CASE("device: a branch that only waits for completed work of a CPU device orders its base") {
    const bool waits = GENERATE(false, true);
    HostStreams s;
    const Stream host(cpu_device());
    Checked checked;
    write(host, s.pin);
    fork_join(
        s.a,
        [&] {
            if (waits) current_stream().wait_stream(host);
        },
        [&] { launch(Add{}, dim(size), s.x, 1); });
    copy(s.a, s.pin, s.x);
    if (waits) checked.expect_silence();
    else checked.expect(RaceKind::write_after_write);
}

TEST_CASE("device: what host functions told early is checked in order, by many threads") {
    const Drained drained;
    constexpr int threads = 4, rounds = 100;
    std::vector<Stream> streams, others;
    std::vector<Array<int>> x, y;
    std::array<int, threads> sums{};
    for (int i = 0; i < threads; ++i) {
        streams.emplace_back(cpu_device());
        others.emplace_back(cpu_device());
        x.push_back(zeros<int>(streams.back(), size));
        y.push_back(zeros<int>(streams.back(), size));
    }
    synchronize();
    Checked checked;
    on_threads(threads, [&](std::size_t i) {
        for (int round = 0; round < rounds; ++round) {
            launch(streams[i], Add{}, dim(size), x[i], 1);
            launch_host(streams[i], [&, i] { launch(others[i], AddTo{}, dim(size), x[i], y[i]); });
            streams[i].synchronize();
            others[i].synchronize();
            sums[i] += x[i][0] + *y[i].begin();  // checked after the operations that are held
        }
    });
    const check::Summary found = checked.end();
    for (const check::Race& race : checked.races()) UNSCOPED_INFO(race.text);
    CHECK(found.certain == 0);
    CHECK(found.possible == 0);
    CHECK(std::ranges::all_of(sums, [&](int one) { return one == sums[0]; }));
    CHECK(found.operations >= threads * rounds * 5);
}

TEST_CASE("device: a pipeline's pieces are filled by any stream, and by the host") {
    const Drained drained;
    const bool in_place = GENERATE(true, false), by_stream = GENERATE(true, false);
    CAPTURE(in_place, by_stream);
    const Stream fills(test_device());
    Pipeline<int, int> pipeline(test_device(),
                                [](StreamRef s, View<const int> in, View<int> out) {
                                    copy(s, out, in);
                                    launch(s, Add{}, dim(out.size()), out, 1);
                                },
                                {.depth = 3, .piece = 64, .in_place = in_place});
    Checked checked({.strict = true});
    int wrong = 0, next = 0;
    const auto take = [&] {
        const auto piece = pipeline.pop();
        for (const int x : *piece) wrong += x != next + 1;
        ++next;
    };
    for (int i = 0; i < 10; ++i) {
        if (pipeline.is_full()) take();
        const std::span<int> piece = pipeline.acquire();
        const View<int> to(piece.data(), piece.size());
        if (by_stream) {
            launch_host(fills, [to, i] { std::fill(to.begin(), to.end(), i); }, writes(to));
            pipeline.copy_in_stream().wait_stream(fills);
        } else {
            std::fill(piece.begin(), piece.end(), i);
        }
        pipeline.submit(64);
    }
    pipeline.finish();
    while (next < 10) take();
    CHECK(wrong == 0);
    const check::Summary found = checked.end();
    for (const check::Race& race : checked.races()) UNSCOPED_INFO(race.text);
    CHECK(found.certain + found.possible + found.faults == 0);
}
