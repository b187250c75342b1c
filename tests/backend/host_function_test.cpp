// Host functions: their order, the calls that they may make, their captures and their exceptions.
#include "kernel_launches.hpp"
#include "support.hpp"

#include <array>

using namespace heddle_test;

TEST_CASE("host functions run once each, in stream order") {
    const OrderLog seen;
    const Stream s(test_device());
    seen.note(s, "first");
    launch_host(s, [seen] { seen.add("second"); });
    {
        const ScopedStream in{s};
        launch_host([seen] { seen.add("third"); });
    }
    s.synchronize();
    CHECK(seen.seen() == Strings{"first", "second", "third"});
}

TEST_CASE("a host function sees what kernels and copies before it wrote, and what follows sees "
          "what it wrote") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 1000), staging = pinned<int>(1000);
    bool right = false;
    launch(s, Iota{}, dim(1000), x);
    copy(s, staging, x);
    launch_host(s, [&] {
        right = staging[999] == 999;
        staging[0] = 42;
    });
    copy(s, x, staging);
    CHECK(to_host(s, x)[0] == 42);
    CHECK(right);
}

TEST_CASE("any callable may be a host function") {
    static int called;
    called = 0;
    struct Function {
        void operator()() { ++called; }
    };
    const Stream s(test_device());
    launch_host(s, Function{});
    launch_host(s, +[] { ++called; });
    launch_host(s, std::function<void()>([] { ++called; }));
    int result = 0;
    launch_host(s, [&result]() mutable { return ++result; });  // heddle ignores the result
    s.synchronize();
    CHECK(called == 3);
    CHECK(result == 1);
}

TEST_CASE("a host function may carry much") {
    const Drained drained;
    std::array<int, 5000> large{};
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<int>(i);
    long sum = 0;
    const Stream s(test_device());
    for (int n = 0; n < 20; ++n)
        launch_host(s, [large, &sum] {
            for (int v : large) sum += v;
        });
    large.fill(0);
    s.synchronize();
    CHECK(sum == 20L * 4999 * 5000 / 2);
}

TEST_CASE("what a host function carries keeps its alignment") {
    struct alignas(64) Aligned {
        double values[8];
    };
    const Drained drained;
    std::atomic<int> wrong{0};
    const Stream s(test_device());
    for (int i = 0; i < 100; ++i) {
        launch_host(s, [] {});  // varies the positions in the queue
        launch_host(s, [a = Aligned{}, &wrong] {
            wrong += reinterpret_cast<std::uintptr_t>(&a) % 64 != 0;
        });
        launch_host(s, [c = 'x', &wrong] { wrong += c != 'x'; });
    }
    s.synchronize();
    CHECK(wrong == 0);
}

TEST_CASE("a host function may carry what can only be moved") {
    const Drained drained;
    int seen = 0;
    const Stream s(test_device());
    launch_host(s, [p = std::make_unique<int>(7), &seen] { seen = *p; });
    s.synchronize();
    CHECK(seen == 7);
}

TEST_CASE(
    "what a host function carries is destroyed after the call, by the time its stream is done") {
    const Drained drained;
    const Stream s(test_device());
    auto alive = std::make_shared<int>(1);
    long during = 0;
    launch_host(s, [alive, &during] { during = alive.use_count(); });
    s.synchronize();
    CHECK(during >= 2);
    CHECK(alive.use_count() == 1);
}

TEST_CASE("what host functions carry is destroyed once, if they throw or are dropped too") {
    const Stream s(test_device());
    auto alive = std::make_shared<int>(1);
    launch_host(s, [alive] { throw Boom("boom"); });
    for (int i = 0; i < 100; ++i) launch_host(s, [alive] {});
    CHECK_THROWS_AS(s.synchronize(), WorkFailed);
    launch_host(s, [alive] {});
    CHECK(s.clear_error() != nullptr);
    CHECK(alive.use_count() == 1);
}

TEST_CASE("what a host function carries is destroyed when it is refused") {
    auto alive = std::make_shared<int>(1);
    StreamRef dead;
    dead = Stream(test_device());
    CHECK_THROWS_AS(launch_host(dead, [alive] {}), UsageError);
    CHECK(alive.use_count() == 1);
}

TEST_CASE("every way to wait in a host function is a usage error, not a deadlock") {
    const Drained drained;
    const Stream s(test_device());
    const Event event = s.record_event({.timing = true});
    Array<int> x = zeros<int>(default_stream(cpu_device()), 4);
    synchronize();
    std::atomic<int> refused{0}, other{0};
    const auto expect_refusal = [&](auto&& call) {
        launch_host(s, [&refused, &other, call] {
            try {
                call();
                ++other;
            } catch (const UsageError&) {
                ++refused;
            } catch (...) {
                ++other;
            }
        });
    };
    const StreamRef cpu = default_stream(cpu_device()), mine = s;
    expect_refusal([mine] { mine.synchronize(); });
    expect_refusal([cpu] { cpu.synchronize(); });
    expect_refusal([&event] { event.synchronize(); });
    expect_refusal([&event] { elapsed(event, event).count(); });
    expect_refusal([] { synchronize_device(cpu_device()); });
    expect_refusal([] { synchronize_device(test_device()); });
    expect_refusal([] { synchronize(); });
    expect_refusal([&x, cpu] { (void)to_host(cpu, x); });
    expect_refusal([mine] { mine.clear_error(); });
    s.synchronize();
    CHECK(refused == 9);
    CHECK(other == 0);
}

TEST_CASE("a copy that would have to wait is refused in a host function before it is enqueued") {
    const Drained drained;
    const Stream s(test_device()), cpu(cpu_device());
    Array<int> x = full<int>(cpu, 1000, 1);
    std::vector<int> destination(1000, 7);
    cpu.synchronize();
    bool refused = false;
    launch_host(s, [&] { refused = error_of([&] { copy(cpu, destination, x); }).has_value(); });
    s.synchronize();
    cpu.synchronize();
    CHECK(refused);
    CHECK(destination == std::vector<int>(1000, 7));  // no copy was enqueued
}

TEST_CASE("after a host function its thread may wait again") {
    // A waiting thread may run the stream's work itself. After that, the thread must not count as
    // being in a host function.
    const Stream s(test_device());
    for (int i = 0; i < 100; ++i) {
        launch_host(s, [] {});
        s.synchronize();
    }
    CHECK(s.is_complete());
}

TEST_CASE("a host function may enqueue on CPU streams, its own too") {
    const OrderLog seen;
    const Drained drained;
    const Stream s(cpu_device()), other(cpu_device());
    const Flag done;
    launch_host(s, [&, seen] {
        seen.add("outer");
        other.wait_stream(s);  // ordered after this host function
        seen.note(other, "on another");
        launch_host(other, [done] { done.set(); });
        seen.note(s, "on its own");
    });
    REQUIRE(done.wait());
    synchronize_device(cpu_device());
    const Strings all = seen.seen();
    REQUIRE(all.size() == 3);
    CHECK(all[0] == "outer");
}

TEST_CASE("a host function may launch kernels, fill and copy on CPU streams") {
    const Drained drained;
    const Stream s(test_device()), cpu(cpu_device());
    Array<int> x = zeros<int>(cpu, 1000), y = zeros<int>(cpu, 1000);
    cpu.synchronize();
    const Flag done;
    launch_host(s, [&, done] {
        fill(cpu, x, 1);
        launch(cpu, Add{}, dim(1000), x, 2);
        copy(cpu, y, x);
        launch_host(cpu, [done] { done.set(); });
    });
    REQUIRE(done.wait());
    CHECK(to_host(cpu, y) == std::vector<int>(1000, 3));
}

TEST_CASE("host functions may give each other work without end in sight") {
    const Drained drained;
    const Stream s(cpu_device());
    const Flag done;
    std::atomic<int> left{2000};
    struct Again {
        StreamRef stream;
        std::atomic<int>& left;
        Flag done;
        void operator()() const {
            if (--left == 0) done.set();
            else launch_host(stream, *this);
        }
    };
    launch_host(s, Again{s, left, done});
    REQUIRE(done.wait());
    CHECK(left == 0);
}

TEST_CASE("a scope opened in a host function ends with it and leaves other threads alone") {
    const Drained drained;
    const Stream s(cpu_device()), inner(cpu_device());
    const StreamRef before = current_stream(cpu_device());
    std::atomic<int> wrong{0};
    for (int i = 0; i < 20; ++i)
        launch_host(s, [&] {
            wrong += current_stream(cpu_device()) == inner;
            const ScopedStream in{inner};
            wrong += !(current_stream(cpu_device()) == inner);
            launch_host([] {});
        });
    s.synchronize();
    CHECK(wrong == 0);
    CHECK(current_stream(cpu_device()) == before);
}

TEST_CASE("host functions of two CPU streams run at the same time") {
    const Drained drained;
    const Stream a(cpu_device()), b(cpu_device());
    if (cpu_workers() < 2) HEDDLE_SKIP("needs two CPU workers");
    // Each of the two functions waits until the other one has begun.
    const Flag a_runs, b_runs;
    bool a_met = false, b_met = false;
    launch_host(a, [&, a_runs, b_runs] {
        a_runs.set();
        a_met = b_runs.wait();
    });
    launch_host(b, [&, a_runs, b_runs] {
        b_runs.set();
        b_met = a_runs.wait();
    });
    // Polls, because a waiting thread may run work itself. Here two workers must run the functions.
    REQUIRE(eventually([&] { return a.is_complete() && b.is_complete(); }));
    CHECK(a_met);
    CHECK(b_met);
}
