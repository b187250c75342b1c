// Threads: each has its own current streams and devices. Threads may share all objects.
#include "kernel_launches.hpp"
#include "support.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace heddle_test;

TEST_CASE("a scope in one thread changes nothing in another") {
    const Stream s(test_device());
    const ScopedStream in{s};
    bool default_there = false;
    std::thread([&] {
        default_there = current_stream(test_device()) == default_stream(test_device());
    }).join();
    CHECK(default_there);
    CHECK(current_stream() == s);
}

TEST_CASE("set_device and set_stream in a thread end with the thread") {
    const Device device = current_device();
    const Stream s(test_device());
    std::thread([&] {
        set_device(test_devices().back());
        set_stream(s, {.wait = false});
    }).join();
    CHECK(current_device() == device);
    CHECK_FALSE(current_stream(test_device()) == s);
    bool again = true;
    std::thread([&] { again = current_stream(test_device()) == s; }).join();
    CHECK_FALSE(again);
}

TEST_CASE("threads have their own scopes at the same time") {
    std::atomic<int> wrong{0};
    on_threads(8, [&](int) {
        const Stream mine(test_device()), inner(test_device());
        for (int i = 0; i < 100; ++i) {
            const ScopedStream in{mine};
            wrong += !(current_stream() == mine);
            {
                const ScopedStream in_inner{inner};
                wrong += !(current_stream() == inner);
                const ScopedDevice on{cpu_device()};
                wrong += !(current_device() == cpu_device());
            }
            wrong += !(current_stream() == mine);
        }
        mine.synchronize();
        inner.synchronize();
    });
    CHECK(wrong == 0);
}

TEST_CASE("threads that share a stream each keep their own order on it") {
    const Drained drained;
    std::atomic<int> wrong{0};
    const Stream s(test_device());
    const std::size_t n = repetitions(5000, 300);
    std::vector<std::vector<std::size_t>> seen(4);
    on_threads(4, [&](int t) {
        auto& mine = seen[static_cast<std::size_t>(t)];
        mine.reserve(n);
        for (std::size_t i = 0; i < n; ++i) launch_host(s, [&mine, i] { mine.push_back(i); });
    });
    s.synchronize();
    for (const auto& order : seen) {
        REQUIRE(order.size() == n);
        for (std::size_t i = 0; i < n; ++i) wrong += order[i] != i;
    }
    CHECK(wrong == 0);
}

TEST_CASE("the default stream takes work from all threads") {
    const Drained drained;
    std::size_t ran = 0;  // not atomic, because a stream runs one function at a time
    const std::size_t n = repetitions(500, 100);
    on_threads(4, [&](int) {
        for (std::size_t i = 0; i < n; ++i)
            launch_host(default_stream(test_device()), [&] { ++ran; });
    });
    default_stream(test_device()).synchronize();
    CHECK(ran == 4 * n);
}

TEST_CASE("threads make and destroy streams, events and arrays at the same time") {
    const Drained drained;
    std::atomic<std::size_t> ran{0};
    std::atomic<int> wrong{0};
    const std::size_t n = repetitions(200, 50);
    on_threads(6, [&](int t) {
        for (std::size_t i = 0; i < n; ++i) {
            const Stream a(test_device()), b(test_device());
            Array<int> x = full<int>(a, 100, t);
            launch(a, Add{}, dim(100), x, 1);
            b.wait_event(a.record_event());
            launch_host(b, [&] { ++ran; });
            if (i % 10 == 0) wrong += to_host(b, x) != std::vector<int>(100, t + 1);
        }
    });
    synchronize_device(test_device());
    CHECK(ran == 6 * n);
    CHECK(wrong == 0);
}

TEST_CASE("many threads may wait for one stream") {
    DrainedGate gate;
    std::atomic<bool> ran{false};
    std::atomic<int> early{0};
    const Stream s(test_device());
    gate.hold(s);
    launch_host(s, [&] { ran = true; });
    Threads threads(8, [&](int t) {
        if (t % 2 == 0) s.synchronize();
        else synchronize_device(test_device());
        early += !ran;
    });
    gate.open();
    threads.join();
    CHECK(early == 0);
}

TEST_CASE("a thread may wait for a stream that others keep giving work") {
    const Drained drained;
    std::atomic<bool> stop{false};
    const Stream s(test_device());
    std::thread other([&] {
        while (!stop) {
            launch_host(s, [] {});
            std::this_thread::yield();
        }
    });
    // synchronize() waits for work that was enqueued before it, not until the stream is idle.
    for (int i = 0; i < 20; ++i) {
        const auto ran = std::make_shared<std::atomic<bool>>(false);
        launch_host(s, [ran] { *ran = true; });
        s.synchronize();
        CHECK(*ran);
    }
    stop = true;
    other.join();
}

TEST_CASE("per-thread streams of many threads are all different") {
    std::vector<std::uint64_t> ids(16);
    const Flag all_made;
    std::atomic<int> made{0};
    on_threads(16, [&](int t) {
        ids[static_cast<std::size_t>(t)] = Stream::per_thread(test_device()).id();
        if (++made == 16) all_made.set();
        all_made.wait();  // so that all threads exist at the same time
    });
    std::sort(ids.begin(), ids.end());
    CHECK(std::unique(ids.begin(), ids.end()) == ids.end());
}

TEST_CASE("a per-thread stream of a thread that has ended is no one's") {
    StreamRef left;
    std::thread([&] {
        left = Stream::per_thread(test_device());
        launch_host(left, [] {});
    }).join();
    CHECK_FALSE(static_cast<bool>(left));
    CHECK_THROWS_AS(launch_host(left, [] {}), UsageError);
}

TEST_CASE("an exception on one thread's stream leaves the other threads' streams alone") {
    std::atomic<int> wrong{0};
    on_threads(6, [&](int t) {
        const Stream s(test_device());
        for (int i = 0; i < 20; ++i) {
            const bool fails = (t + i) % 3 == 0;
            launch_host(s, [fails] {
                if (fails) throw Boom("boom");
            });
            const auto error = error_of([&] { s.synchronize(); });
            wrong += error.has_value() != fails;
            if (fails) wrong += s.clear_error() == nullptr;
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("a device is synchronised while another thread makes and destroys streams of it") {
    std::atomic<bool> stop{false};
    std::thread synchronising([&] {
        while (!stop) {
            synchronize_device(cpu_device());
            synchronize();
        }
    });
    std::atomic<int> ran{0};
    for (int i = 0; i < 2000; ++i) {
        const Stream s(cpu_device());
        launch_host(s, [&] { ++ran; });
    }
    stop = true;
    synchronising.join();
    synchronize_device(cpu_device());
    CHECK(ran == 2000);
}

TEST_CASE("a device is synchronised beside another thread's capture, which goes on", "[graphs]") {
    const OrderLog seen;
    const Stream s(test_device()), captured(test_device());
    const Flag begun, synchronised;
    Graph graph;
    std::thread capturing([&] {
        ScopedCapture scope(captured);
        seen.note(captured, "in the graph");
        begun.set();
        (void)synchronised.wait();
        seen.note(captured, "in the graph too");
        graph = scope.end();
    });
    REQUIRE(begun.wait());
    seen.note(s, "outside");
    const std::optional<Error> error = error_of([] { synchronize_device(test_device()); });
    const Strings so_far = seen.seen();
    synchronised.set();
    capturing.join();
    CHECK_FALSE(error);
    CHECK(so_far == Strings{"outside"});
    graph.launch(s);
    s.synchronize();
    CHECK(seen.seen() == Strings{"outside", "in the graph", "in the graph too"});
}

TEST_CASE("a device is synchronised while another thread begins and ends captures on it",
          "[graphs]") {
    std::atomic<bool> stop{false};
    std::atomic<int> ran{0}, errors{0};
    std::thread synchronising([&] {
        while (!stop) errors += error_of([] { synchronize_device(test_device()); }).has_value();
    });
    const int rounds = static_cast<int>(repetitions(1000, 100));
    for (int i = 0; i < rounds; ++i) {
        const Stream s(test_device());
        capture(s, [&] { launch_host(s, [&] { ++ran; }); }).launch(s);
    }
    stop = true;
    synchronising.join();
    synchronize_device(test_device());
    CHECK(errors == 0);
    CHECK(ran == rounds);
}

TEST_CASE("names of streams are read while other threads open and close streams") {
    const Stream failed(test_device(), {.name = "the failed one"});
    poison(failed);
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::thread reading([&] {
        while (!stop) {
            const std::vector<PoisonedStream> all = poisoned_streams();
            wrong += all.size() != 1 || all[0].name != "the failed one";
        }
    });
    Threads opening(2, [](int t) {
        for (std::size_t i = 0; i < repetitions(500, 50); ++i) {
            const Stream named(test_device(), {.priority = -static_cast<int>(i % 4),
                                               .name = std::string(40, 'a')});
            StreamPool pool(test_device(), {.max_streams = 2, .shared = 1});
            const StreamPool::Lease lease = pool.lease();
            // Streams of branches are kept for later forks, separately for each priority.
            const ScopedStream in(named, {.wait_on_enter = false});
            if (t == 0) fork_join([] { launch_host([] {}); }, [] { launch_host([] {}); });
        }
    });
    // Makes so many streams that records of destroyed streams are reused, with other names.
    on_another_thread([] {
        for (std::size_t i = 0; i < repetitions(20'000, 200); ++i)
            const Stream named(test_device(), {.name = std::string(20 + i % 40, 'b')});
    });
    opening.join();
    stop = true;
    reading.join();
    CHECK(wrong == 0);
    CHECK(failed.clear_error() != nullptr);
}
