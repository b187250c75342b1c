// Memory of others as arrays: its end is called once, after the last use.
#include "child.hpp"
#include "kernels.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

using namespace heddle_test;

namespace {

constexpr std::size_t n = 1000;

/// Host memory, and how often it was given back.
struct Lender {
    alignas(256) int data[n] = {};
    std::atomic<int> ended{0};

    Array<int> give() {
        return adopt(cpu_device(), data, n, [this](int* p) { ended += p == data; });
    }
};

}  // namespace

TEST_CASE("an adopted array is the memory itself") {
    Lender lender;
    Array<int> x = lender.give();
    CHECK(x.data() == lender.data);
    CHECK(x.size() == n);
    CHECK(x.device() == cpu_device());
    CHECK(x.kind() == MemoryKind::device);
    const Stream s(cpu_device());
    launch(s, Add{}, dim(n), x, 3);
    s.synchronize();
    CHECK(lender.data[n - 1] == 3);
}

TEST_CASE("the end of adopted memory comes after all work of all streams, on a thread of heddle") {
    Lender lender;
    const Drained drained;
    const Stream a(cpu_device()), b(cpu_device());
    std::thread::id thread;
    bool was_waiting = false;
    Gate gate;
    {
        Array<int> x = adopt(cpu_device(), lender.data, n, [&](int* p) {
            thread = std::this_thread::get_id();
            was_waiting = p[n - 1] != 2;
            ++lender.ended;
        });
        gate.hold(a);
        launch(a, Add{}, dim(n), x, 1);
        b.wait_stream(a);
        launch(b, Add{}, dim(n), x, 1);
    }
    CHECK(lender.ended == 0);
    gate.open();
    finish_adopted();
    CHECK(lender.ended == 1);
    CHECK_FALSE(was_waiting);
    CHECK(thread != std::this_thread::get_id());
}

TEST_CASE("memory that no stream used ends at once, on the thread that gives it up") {
    Lender lender;
    {
        const Array<int> x = lender.give();
        CHECK(lender.ended == 0);
    }
    CHECK(lender.ended == 1);
    Array<int> moved = lender.give();
    Array<int> y = std::move(moved);
    y.reset();
    CHECK(lender.ended == 2);
    CHECK_THROWS_AS(
        [&] {
            const Array<int> x = lender.give();
            throw Boom("an exception while the array is in scope");
        }(),
        Boom);
    CHECK(lender.ended == 3);
}

TEST_CASE("an end with a stream is called at once, and what it enqueues comes after all work") {
    Lender lender;
    const Recorder seen;
    const Drained drained;
    const Stream a(cpu_device()), b(cpu_device());
    Gate gate;
    {
        Array<int> x = adopt(cpu_device(), lender.data, n, [&](int*, StreamRef after) {
            CHECK(after.device() == cpu_device());
            ++lender.ended;
            seen.note(after, "freed");
        });
        gate.hold(a);
        gate.hold(b);
        launch_host(a, [seen] { seen.add("used by a"); }, reads(x));
        launch_host(b, [seen] { seen.add("used by b"); }, reads(x));
    }
    CHECK(lender.ended == 1);
    CHECK(seen.seen().empty());
    gate.open();
    REQUIRE(eventually([&] { return seen.has("freed"); }));
    CHECK(seen.seen().back() == "freed");
    CHECK(seen.seen().size() == 3);
}

TEST_CASE("adopted memory ends after failed work, too") {
    Lender lender;
    const Drained drained;
    Stream s(cpu_device());
    const Recorder seen;
    {
        Array<int> x = lender.give();
        Array<int> y = adopt(cpu_device(), lender.data + n, 0,
                             [&](int*, StreamRef after) { seen.note(after, "freed"); });
        launch_host(
            s, [] { throw Boom("failed"); }, writes(x, y));
    }
    finish_adopted();
    CHECK(lender.ended == 1);
    CHECK(eventually([&] { return seen.has("freed"); }));
    CHECK_THROWS_AS(s.synchronize(), Error);
    {
        Array<int> x = lender.give();
        launch(s, Add{}, dim(n), x, 1);  // dropped
    }
    finish_adopted();
    CHECK(lender.ended == 2);
    (void)s.clear_error();
}

TEST_CASE("a batch keeps adopted memory, and finish_adopted() flushes it") {
    Lender lender;
    const Stream s(cpu_device());
    {
        Batch batch{BatchOptions{.on_cpu = true}};
        const ScopedBatch in(batch, s);
        {
            Array<int> x = lender.give();
            launch(s, Add{}, dim(n), x, 1);
        }
        CHECK(lender.ended == 0);
        finish_adopted();
        CHECK(lender.ended == 1);
        CHECK(lender.data[0] == 1);
        {
            Array<int> x = lender.give();
            launch(s, Add{}, dim(n), x, 1);
        }
    }
    finish_adopted();
    CHECK(lender.ended == 2);
    CHECK(lender.data[n - 1] == 2);
}

TEST_CASE("a captured graph uses adopted memory while its array exists") {
    Lender lender;
    const Stream s(cpu_device());
    Graph graph;
    {
        Array<int> x = lender.give();
        ScopedCapture capture(s);
        launch(s, Add{}, dim(n), x, 1);
        graph = capture.end();
        graph.launch(s);
    }
    finish_adopted();
    CHECK(lender.ended == 1);
    CHECK(lender.data[7] == 1);
    CHECK_THROWS_AS(graph.launch(s), UsageError);
}

TEST_CASE("adopted memory that is given up during a capture ends, and is not captured") {
    Lender lender;
    const Stream s(cpu_device());
    Array<int> other(s, n);
    bool has_ended = false;
    ScopedCapture capture(s);
    {
        Array<int> x = lender.give();
        Array<int> y = adopt(cpu_device(), lender.data + n, 0,
                             [&](int*, StreamRef) { has_ended = true; });
        launch(s, Add{}, dim(n), x, 1);
        launch_host(s, [] {}, reads(y));
    }
    launch(s, Add{}, dim(n), other, 1);
    finish_adopted();
    CHECK(lender.ended == 1);
    CHECK(has_ended);
    CHECK(lender.data[0] == 0);
    (void)capture.end();
}

TEST_CASE("adopted memory is ordered by data") {
    Lender lender;
    {
        order_by_data order{cpu_device()};
        Array<int> x = lender.give();
        fill(order, x, 1);
        launch(order, Add{}, dim(n), x, 1);
        CHECK(to_host(order, x)[5] == 2);
    }
    finish_adopted();
    CHECK(lender.ended == 1);
}

TEST_CASE("a copy of an address in adopted memory counts as a use") {
    Lender lender;
    const Drained drained;
    const Stream s(cpu_device());
    Array<int> to(s, 10);
    s.synchronize();
    Gate gate;
    {
        const Array<int> x = lender.give();
        gate.hold(s);
        copy(s, to, View<const int>(lender.data + 500, 10));
    }
    CHECK(lender.ended == 0);
    gate.open();
    finish_adopted();
    CHECK(lender.ended == 1);
}

TEST_CASE("a container that is given away is destroyed after the last use") {
    const auto shared = std::make_shared<int>(0);
    struct Container {
        std::shared_ptr<int> alive;
        std::vector<float> values;
        auto begin() { return values.begin(); }
        auto end() { return values.end(); }
    };
    const Drained drained;
    const Stream s(cpu_device());
    Gate gate;
    {
        Container container{shared, std::vector<float>(n, 3)};
        const float* const data = container.values.data();
        Array<float> x = adopt(cpu_device(), std::move(container));
        CHECK(x.data() == data);
        gate.hold(s);
        launch(s, Add{}, dim(n), x, 1.0f);
    }
    CHECK(shared.use_count() == 2);
    gate.open();
    finish_adopted();
    CHECK(shared.use_count() == 1);
    const Array<float> y = adopt(cpu_device(), std::vector<float>(n, 4));
    CHECK(to_host(s, y) == std::vector<float>(n, 4));
}

TEST_CASE("host memory is adopted as pageable, or as pinned") {
    std::vector<int> values(n, 1);
    const Array<int> x = adopt(MemoryKind::pageable, values.data(), n, [](int*) {});
    CHECK(x.kind() == MemoryKind::pageable);
    const Stream s(test_device());
    CHECK(to_host(s, x) == values);
    const std::optional<Error> no_kind = error_of(
        [&] { (void)adopt(MemoryKind::device, values.data() + n, 0, [](int*) {}); });
    CHECK(mentions(no_kind, "pass the Device instead"));
}

TEST_CASE("memory that cannot be adopted stays its owner's") {
    Lender lender;
    const auto refused = [&](int* data, std::size_t size) {
        return error_of([&] { (void)adopt(cpu_device(), data, size, [&](int*) { ++lender.ended; }); });
    };
    CHECK(mentions(refused(nullptr, 3), "the address is null"));
    CHECK(mentions(refused(reinterpret_cast<int*>(reinterpret_cast<char*>(lender.data) + 1), 1),
                   "a multiple of 4 bytes"));
    CHECK(mentions(refused(lender.data, static_cast<std::size_t>(-1)), "adopt"));
    const Array<int> own(cpu_device(), 100);
    CHECK(mentions(refused(const_cast<int*>(own.data()) + 10, 20), "an array's already"));
    {
        const Array<int> middle = adopt(cpu_device(), lender.data + 100, 10, [](int*) {});
        CHECK(mentions(refused(lender.data, n), "an array's already"));
        CHECK_FALSE(refused(lender.data, 100));
        CHECK(lender.ended == 1);
        lender.ended = 0;
    }
    CHECK(lender.ended == 0);
    const Array<int> x = lender.give();
    CHECK(mentions(refused(lender.data, n), "an array's already"));
}

TEST_CASE("an end that throws is reported, and the others are called") {
    Lender lender;
    const Reports reports;
    { const Array<int> x = adopt(cpu_device(), lender.data, n, [](int*) { throw Boom("end"); }); }
    const Stream s(cpu_device());
    {
        Array<int> x = adopt(cpu_device(), lender.data, n, [](int*) { throw Boom("end"); });
        launch(s, Add{}, dim(n), x, 1);
    }
    {
        Array<int> x = lender.give();
        launch(s, Add{}, dim(n), x, 1);
    }
    finish_adopted();
    CHECK(lender.ended == 1);
    CHECK(reports.count() == 2);
}

TEST_CASE("memory may be adopted again as soon as its array is gone, without a copy of old uses") {
    Lender lender;
    const Stream a(cpu_device()), b(cpu_device());
    for (int i = 0; i < 1000; ++i) {
        Array<int> x = lender.give();
        launch(i % 2 != 0 ? a : b, Add{}, dim(10), x, 1);
        a.synchronize();
        b.synchronize();
    }
    finish_adopted();
    CHECK(lender.ended == 1000);
    CHECK(lender.data[9] == 1000);
}

TEST_CASE("arrays that are given up in host functions end on a thread of heddle") {
    Lender lender;
    const Stream s(cpu_device());
    const Recorder seen;
    auto x = std::make_shared<Array<int>>(lender.give());
    auto y = std::make_shared<Array<int>>(adopt(
        cpu_device(), lender.data + n, 0, [&](int*, StreamRef after) { seen.note(after, "freed"); }));
    std::optional<Error> refused;
    launch_host(s, [&] {
        x.reset();
        y.reset();
        refused = error_of([] { finish_adopted(); });
    });
    s.synchronize();
    finish_adopted();
    CHECK(lender.ended == 1);
    CHECK(eventually([&] { return seen.has("freed"); }));
    CHECK(mentions(refused, "may not wait"));
}

TEST_CASE("an end may not wait for ends, and may use heddle") {
    Lender lender;
    const Stream s(cpu_device());
    std::optional<Error> refused;
    int result = 0;
    {
        Array<int> x = adopt(cpu_device(), lender.data, n, [&](int*) {
            refused = error_of([] { finish_adopted(); });
            result = to_host(full<int>(s, 10, 4))[3];
        });
        launch(s, Add{}, dim(n), x, 1);
    }
    finish_adopted();
    CHECK(mentions(refused, "the end of an array may not wait"));
    CHECK(result == 4);
}

TEST_CASE("many threads adopt and give up") {
    std::atomic<int> ended{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            const Stream s(cpu_device());
            for (int i = 0; i < 50; ++i) {
                auto* const data = new int[64]();
                Array<int> x = adopt(cpu_device(), data, 64, [&](int* p) {
                    delete[] p;
                    ++ended;
                });
                launch(s, Add{}, dim(64), x, 1);
            }
            finish_adopted();
        });
    for (std::thread& one : threads) one.join();
    finish_adopted();
    CHECK(ended == 200);
}

TEST_CASE("child: exit with adopted memory in use", "[.child]") {
    end_if_it_hangs();
    static Lender lender;
    static const Stream s(cpu_device());
    static Gate gate;
    static Array<int> kept = adopt(cpu_device(), lender.data, 10, [](int*) { std::_Exit(4); });
    {
        Array<int> x = adopt(cpu_device(), lender.data + 10, 10, [](int*) { std::_Exit(5); });
        gate.hold(s);
        launch(s, Add{}, dim(10), x, 1);
        launch(s, Add{}, dim(10), kept, 1);
    }
    static Array<int> unused = adopt(cpu_device(), lender.data + 20, 10, [](int*) { std::_Exit(6); });
    std::exit(0);
}

TEST_CASE("when exit() has begun, no end is called") {
    const ChildResult child = run_test_case("child: exit with adopted memory in use");
    INFO(child.output);
    CHECK(child.signal == 0);
    CHECK(child.status == 0);
    CHECK(child.output.find("heddle:") == std::string::npos);
}

TEST_CASE("the child of a fork calls no end of its parent, and adopts its own memory") {
    HEDDLE_SKIP_WITHOUT_FORK();
    if (test_device().is_cuda()) HEDDLE_SKIP("a forked child cannot use CUDA");
    Lender lender;
    const Stream s(cpu_device());
    Gate gate;
    Array<int> used = lender.give();
    std::optional<Array<int>> unused = adopt(cpu_device(), lender.data + n, 0, [&](int*) {
        ++lender.ended;
    });
    gate.hold(s);
    launch(s, Add{}, dim(n), used, 1);
    const ChildResult child = run_forked([&] {
        used.reset();
        unused.reset();
        finish_adopted();
        if (lender.ended != 0) return 1;
        {
            const Stream own(cpu_device());
            static int data[16];
            Array<int> x = adopt(cpu_device(), data, 16, [&](int*) { lender.ended += 10; });
            launch(own, Add{}, dim(16), x, 1);
        }
        finish_adopted();
        return lender.ended == 10 ? 0 : 2;
    });
    CHECK(child.status == 0);
    gate.open();
    used.reset();
    unused.reset();
    finish_adopted();
    CHECK(lender.ended == 2);
}
