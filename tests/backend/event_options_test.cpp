// Options of events: timing, blocking waits by the host, sharing between processes, invalid calls.
#include "support.hpp"

using namespace heddle_test;

TEST_CASE("an event cannot be recorded on a stream of another device") {
    if (devices().size() < 2) HEDDLE_SKIP("needs two devices");
    const Device mine = devices()[0], other = devices()[1];
    Event event(mine);
    const Stream s(other);
    const Error error = thrown_by([&] { event.record(s); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK_THAT(error.what(), contains(mine.name()));
    CHECK_THAT(error.what(), contains(other.name()));
    CHECK_THROWS_AS(s.record_event(event), UsageError);
    CHECK_FALSE(event.is_recorded());
}

TEST_CASE("time between two timing events is at least that of the work between them") {
    const Stream s(test_device());
    const Event start = s.record_event({.timing = true});
    launch_host(s, [] {
        const auto begin = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2)) continue;
    });
    const Event middle = s.record_event({.timing = true});
    launch_host(s, [] {});
    const Event end = s.record_event({.timing = true});
    CHECK(elapsed(start, middle).count() >= 1.9);
    CHECK(elapsed(start, end).count() >= elapsed(start, middle).count());
    CHECK(elapsed(start, start).count() == Approx(0.0));
}

TEST_CASE("elapsed time waits for both events") {
    DrainedGate gate;
    const Stream s(test_device());
    std::atomic<bool> ran{false};
    const Event start = s.record_event({.timing = true});
    gate.hold(s);
    launch_host(s, [&] { ran = true; });
    const Event end = s.record_event({.timing = true});
    std::thread opener([&] { gate.open(); });
    elapsed(start, end).count();
    CHECK(ran);
    opener.join();
}

TEST_CASE("elapsed time needs two events with timing and a record") {
    const Stream s(test_device());
    const Event timed = s.record_event({.timing = true}), untimed = s.record_event();
    const Event unrecorded(test_device(), {.timing = true});
    CHECK_THROWS_AS(elapsed(timed, untimed).count(), UsageError);
    CHECK_THROWS_AS(elapsed(untimed, timed).count(), UsageError);
    CHECK_THROWS_AS(elapsed(timed, unrecorded).count(), UsageError);
    CHECK_THROWS_AS(elapsed(unrecorded, timed).count(), UsageError);
}

CUDA_TEST_CASE("elapsed time needs two events of one kind of device", "[cross]") {
    const Stream cpu(cpu_device()), cuda(Device("cuda:0"));
    const Event a = cpu.record_event({.timing = true}), b = cuda.record_event({.timing = true});
    CHECK_THROWS_AS(elapsed(a, b).count(), UsageError);
}

TEST_CASE("timing survives a trip through the pool") {
    const Stream s(test_device());
    for (int i = 0; i < 5; ++i) {
        {
            const Event without = s.record_event();
        }
        const Event start = s.record_event({.timing = true}),
                    end = s.record_event({.timing = true});
        CHECK(elapsed(start, end).count() >= 0.0);
        CHECK_THROWS_AS(elapsed(start, s.record_event()).count(), UsageError);
    }
}

TEST_CASE("a blocking event is waited for like any other") {
    const Drained drained;
    std::atomic<bool> ran{false};
    const Stream s(test_device());
    launch_host(s, [&] { ran = true; });
    const Event event = s.record_event({.blocking = true});
    event.synchronize();
    CHECK(ran);
}

TEST_CASE("an event cannot have timing and be shared between processes") {
    CHECK_THROWS_AS(Event(test_device(), {.timing = true, .interprocess = true}), UsageError);
}

TEST_CASE("only an interprocess event can be exported") {
    CHECK_THROWS_AS(export_event(Event(test_device())), UsageError);
}

TEST_CASE("an event that was recorded on a stream which is gone still completes") {
    const Drained drained;
    std::atomic<bool> ran{false};
    Gate gate;
    Event event(test_device());
    {
        const Stream s(test_device());
        gate.hold(s);
        launch_host(s, [&] { ran = true; });
        event.record(s);
    }
    CHECK_FALSE(event.is_complete());
    gate.open();
    event.synchronize();
    CHECK(ran);
}

TEST_CASE("waiting for an event on the stream that recorded it changes nothing") {
    const OrderLog seen;
    const Drained drained;
    const Stream s(test_device());
    seen.note(s, "a");
    s.wait_event(s.record_event());
    seen.note(s, "b");
    s.synchronize();
    CHECK(seen.seen() == Strings{"a", "b"});
}

TEST_CASE("host threads may wait for one event together") {
    DrainedGate gate;
    std::atomic<bool> ran{false};
    std::atomic<int> early{0};
    const Stream s(test_device());
    gate.hold(s);
    launch_host(s, [&] { ran = true; });
    const Event event = s.record_event();
    Threads threads(8, [&] {
        event.synchronize();
        early += !ran;
    });
    gate.open();
    threads.join();
    CHECK(early == 0);
}
