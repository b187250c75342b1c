// OpCounter.
#include "kernel_launches.hpp"
#include "support.hpp"

using namespace heddle_test;

TEST_CASE("launches, host functions, copies and fills are counted with their bytes") {
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 100), y = empty<int>(s, 100);
    const OpCounter counted;
    launch(s, Iota{}, dim(100), x);
    launch(s, Add{}, dim(100), x, 1);
    launch_host(s, [] {});
    copy(s, y, x);
    copy(s, y.view().first(10), x.view().first(10));
    fill(s, x, 1);
    const OpStats since = counted.stats();
    CHECK(since.launches == 2);
    CHECK(since.host_functions == 1);
    CHECK(since.copies == 2);
    CHECK(since.bytes_copied == 440);
    CHECK(since.fills == 1);
    CHECK(since.dropped == 0);
    s.synchronize();
}

TEST_CASE("allocations and frees are counted with their bytes") {
    const Stream s(test_device());
    const OpCounter counted;
    {
        const Array<double> x = empty<double>(s, 100);
        CHECK(counted.stats().allocations == 1);
        CHECK(counted.stats().bytes_allocated == 800);
        CHECK(counted.stats().frees == 0);
    }
    CHECK(counted.stats().frees == 1);
}

TEST_CASE("records are counted when the user makes them, not inside of wait_stream") {
    const Stream a(test_device()), b(test_device());
    launch_host(b, [] {});
    const OpCounter counted;
    const Event event = b.record_event();
    CHECK(counted.stats().events_recorded == 1);
    a.wait_stream(b);
    CHECK(counted.stats().events_recorded == 1);
    CHECK(counted.stats().waits_inserted == 1);
}

TEST_CASE("waits on events are counted") {
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    gate.hold(b);
    launch_host(b, [] {});
    const Event event = b.record_event();
    const OpCounter counted;
    a.wait_event(event);
    CHECK(counted.stats().waits_inserted == 1);
    CHECK(counted.stats().waits_elided == 0);
}

TEST_CASE(
    "a scope costs one wait at most, one more with wait_on_exit, and none without wait_on_enter") {
    const Stream a(test_device()), b(test_device());
    const ScopedStream in{a};
    const auto waits_of = [&](ScopeOptions options) {
        launch_host(a, [] {});
        const OpCounter counted;
        {
            const ScopedStream inner{b, options};
            launch_host([] {});
        }
        return counted.stats().waits_inserted;
    };
    CHECK(waits_of({}) == 1);
    CHECK(waits_of({.wait_on_enter = true, .wait_on_exit = true}) == 2);
    CHECK(waits_of({.wait_on_enter = false, .wait_on_exit = true}) == 1);
    CHECK(waits_of({.wait_on_enter = false, .wait_on_exit = false}) == 0);
}

TEST_CASE("host waits are counted") {
    const Stream s(test_device());
    const Event event = s.record_event();
    const OpCounter counted;
    s.synchronize();
    event.synchronize();
    synchronize_device(test_device());
    CHECK(counted.stats().synchronizations == 3);
}

TEST_CASE("dropped work is counted as dropped and as nothing else") {
    const Stream s(test_device());
    poison(s);
    const OpCounter counted;
    launch_host(s, [] {});
    OpStats expected;
    expected.dropped = 1;
    CHECK(counted.stats() == expected);
}

TEST_CASE("refused work is not counted") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, 11);
    const OpCounter counted;
    CHECK_THROWS_AS(copy(s, x, y), UsageError);
    CHECK(counted.stats() == OpStats{});
}

TEST_CASE("counters are over all threads") {
    const OpCounter counted;
    on_threads(4, [] {
        const Stream s(test_device());
        for (int i = 0; i < 25; ++i) launch_host(s, [] {});
        s.synchronize();
    });
    CHECK(counted.stats().host_functions == 100);
    CHECK(counted.stats().synchronizations == 4);
}

TEST_CASE("counters subtract") {
    OpStats a, b;
    a.launches = 5;
    a.waits_elided = 3;
    b.launches = 2;
    b.waits_elided = 3;
    OpStats expected;
    expected.launches = 3;
    CHECK(a - b == expected);
}
