// Long programs in which streams, events and waiting threads make progress.
#include "watch/programs/programs.hpp"

namespace heddle_test {

namespace {

void nothing_pending() {
    const Stream s = stream_named("s");
    launch_host(s, [] {});
    s.synchronize();
    sleep_for_long();
}

void no_stream_at_all() { sleep_for_long(); }

void streams_that_are_idle_for_long() {
    const Stream a = stream_named("a"), b = stream_named("b");
    b.wait_stream(a);
    const Event never(cpu_device());
    b.wait_event(never);
    sleep_for_long();
    launch_host(b, [] {});
    b.synchronize();
}

void slow_producer() {
    const Stream s = stream_named("s");
    repeat_for_long([&] {
        launch_host(s, [] {});
        sleep_a_while();
    });
}

void very_slow_producer() {
    const Stream s = stream_named("s");
    for (int i = 0; i < 3; ++i) {
        launch_host(s, sleep_a_while);
        virtual_time::sleep(long_time / 2);
    }
}

void two_streams_by_turns() {
    const Stream a = stream_named("a"), b = stream_named("b");
    for (int i = 0; i < long_row / 2; ++i) {
        launch_host(a, sleep_a_while);
        b.wait_stream(a);
        launch_host(b, sleep_a_while);
        a.wait_stream(b);
    }
    a.synchronize();
}

void ring_of_ten_streams() {
    std::vector<Stream> ring;
    for (int i = 0; i < 10; ++i) ring.push_back(stream_named("in a ring"));
    for (std::size_t i = 0; i < static_cast<std::size_t>(long_row); ++i) {
        launch_host(ring[i % 10], sleep_a_while);
        const Event done = ring[i % 10].record_event();
        ring[(i + 1) % 10].wait_event(done);
    }
    synchronize();
}

void two_devices_by_turns() {
    const Stream a = stream_named("a"), b = stream_named("b", Device("cpu:1"));
    for (int i = 0; i < long_row / 2; ++i) {
        launch_host(a, sleep_a_while);
        b.wait_stream(a);
        launch_host(b, sleep_a_while);
        a.wait_stream(b);
    }
    synchronize_device(Device("cpu:1"));
}

void stream_that_waits_for_a_long_row() {
    const Stream a = stream_named("a"), b = stream_named("b", Device("cpu:1"));
    for (int i = 0; i < long_row; ++i) launch_host(a, sleep_a_while);
    b.wait_stream(a);
    launch_host(b, [] {});
    b.synchronize();
}

void chain_of_which_the_first_moves() {
    std::vector<Stream> chain;
    for (int i = 0; i < 5; ++i) chain.push_back(stream_named("in a chain"));
    for (int i = 0; i < long_row; ++i) launch_host(chain[0], sleep_a_while);
    for (std::size_t i = 1; i < 5; ++i) {
        chain[i].wait_stream(chain[i - 1]);
        launch_host(chain[i], [] {});
    }
    chain.back().record_event().synchronize();
}

void threads_that_wait_for_one_stream() {
    const Stream s = stream_named("s");
    for (int i = 0; i < long_row; ++i) launch_host(s, sleep_a_while);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([&] { s.synchronize(); });
    for (std::thread& one : threads) one.join();
}

void threads_that_come_and_go() {
    repeat_for_long([] {
        std::thread([] {
            launch_host(Stream::per_thread(cpu_device()), sleep_a_while);
            Stream::per_thread(cpu_device()).synchronize();
        }).join();
    });
}

void bulk_work_that_advances_between_urgent_work() {
    const Stream urgent = stream_named("urgent", cpu_device(), -1), bulk = stream_named("bulk");
    for (int i = 0; i < long_row; ++i) launch_host(bulk, [] {});
    for (int i = 0; i < long_row; ++i) {
        launch_host(urgent, sleep_a_while);
        bulk.wait_stream(urgent);
        launch_host(bulk, [] {});
        // Leaves time for one step of the stream. Without this pause, more urgent work would starve
        // it.
        virtual_time::sleep(operation_time + virtual_time::step);
    }
    bulk.synchronize();
}

void scopes() {
    const Stream outer = stream_named("outer"), inner = stream_named("inner");
    const ScopedStream in{outer};
    repeat_for_long([&] {
        launch_host(sleep_a_while);
        const ScopedStream deeper{inner, {.wait_on_enter = true, .wait_on_exit = true}};
        launch_host(sleep_a_while);
        inner.synchronize();
    });
}

void events_with_timing() {
    const Stream s = stream_named("s");
    repeat_for_long([&] {
        const Event begin = s.record_event({.timing = true});
        launch_host(s, sleep_a_while);
        const Event end = s.record_event({.timing = true});
        static_cast<void>(elapsed(begin, end).count());
    });
}

void streams_that_are_closed_in_use() {
    const Stream last = stream_named("last");
    for (int i = 0; i < long_row; ++i) {
        const Stream s = stream_named("closed");
        s.wait_stream(last);
        launch_host(s, sleep_a_while);
        last.wait_stream(s);
    }
    last.synchronize();
}

}  // namespace

std::vector<HealthyProgram> healthy_order() {
    return {
        {"nothing pending", nothing_pending},
        {"no stream at all", no_stream_at_all},
        {"streams that are idle for long", streams_that_are_idle_for_long},
        {"slow producer", slow_producer},
        {"very slow producer", very_slow_producer},
        {"two streams by turns", two_streams_by_turns},
        {"ring of ten streams", ring_of_ten_streams},
        {"two devices by turns", two_devices_by_turns},
        {"stream that waits for a long row", stream_that_waits_for_a_long_row},
        {"chain of which the first moves", chain_of_which_the_first_moves},
        {"threads that wait for one stream", threads_that_wait_for_one_stream},
        {"threads that come and go", threads_that_come_and_go},
        {"bulk work that advances", bulk_work_that_advances_between_urgent_work},
        {"scopes", scopes},
        {"events with timing", events_with_timing},
        {"streams that are closed in use", streams_that_are_closed_in_use},
    };
}

}  // namespace heddle_test
