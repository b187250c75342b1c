// Arrays in memory that other code owns. adopt() calls `end` once, after the last use.
#include "kernels.hpp"
#include "memory/lender.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

using namespace heddle_test;

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
    const OrderLog seen;
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
    const OrderLog seen;
    {
        Array<int> x = lender.give();
        Array<int> y = adopt(cpu_device(), lender.data + n, 0,
                             [&](int*, StreamRef after) { seen.note(after, "freed"); });
        launch_host(s, [] { throw Boom("failed"); }, writes(x, y));
    }
    finish_adopted();
    CHECK(lender.ended == 1);
    CHECK(eventually([&] { return seen.has("freed"); }));
    CHECK_THROWS_AS(s.synchronize(), Error);
    {
        Array<int> x = lender.give();
        launch(s, Add{}, dim(n), x, 1);  // this work is dropped
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

TEST_CASE("adopted memory that is freed during a capture ends, and is not captured") {
    Lender lender;
    const Stream s(cpu_device());
    Array<int> other(s, n);
    bool has_ended = false;
    ScopedCapture capture(s);
    {
        Array<int> x = lender.give();
        Array<int> y =
            adopt(cpu_device(), lender.data + n, 0, [&](int*, StreamRef) { has_ended = true; });
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
        DataOrder order{cpu_device()};
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

TEST_CASE("a container that is moved in is destroyed after the last use") {
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
    const std::optional<Error> no_kind =
        error_of([&] { (void)adopt(MemoryKind::device, values.data() + n, 0, [](int*) {}); });
    CHECK(mentions(no_kind, "pass the Device instead"));
}

TEST_CASE("memory that cannot be adopted stays its owner's") {
    Lender lender;
    const auto refused = [&](int* data, std::size_t size) {
        return error_of(
            [&] { (void)adopt(cpu_device(), data, size, [&](int*) { ++lender.ended; }); });
    };
    CHECK(mentions(refused(nullptr, 3), "the address is null"));
    CHECK(mentions(refused(reinterpret_cast<int*>(reinterpret_cast<char*>(lender.data) + 1), 1),
                   "a multiple of 4 bytes"));
    CHECK(mentions(refused(lender.data, static_cast<std::size_t>(-1)), "adopt"));
    const Array<int> own(cpu_device(), 100);
    CHECK(mentions(refused(const_cast<int*>(own.data()) + 10, 20), "already belongs to an array"));
    {
        const Array<int> middle = adopt(cpu_device(), lender.data + 100, 10, [](int*) {});
        CHECK(mentions(refused(lender.data, n), "already belongs to an array"));
        CHECK_FALSE(refused(lender.data, 100));
        CHECK(lender.ended == 1);
        lender.ended = 0;
    }
    CHECK(lender.ended == 0);
    const Array<int> x = lender.give();
    CHECK(mentions(refused(lender.data, n), "already belongs to an array"));
}
