// Pools of streams: exclusive leases, shared streams, limits.
#include "child.hpp"
#include "kernel_launches.hpp"
#include "support.hpp"

#include <algorithm>
#include <set>

using namespace heddle_test;

TEST_CASE("a pool makes streams of its device, when they are first needed") {
    for (Device d : test_devices()) {
        StreamPool pool(d);
        CHECK(pool.device() == d);
        CHECK(pool.size() == 0);
        const StreamPool::Lease lease = pool.lease();
        CHECK(lease.device() == d);
        CHECK(pool.size() == 1);
    }
}

TEST_CASE("a pool made without a device is one of the current device") {
    const ScopedDevice on{test_devices().back()};
    CHECK(StreamPool().device() == test_devices().back());
}

// Needs a process of its own, because other test cases may have created as many streams.
TEST_CASE("child: makes streams beside a busy device", "[.child]") {
    end_if_it_hangs();
    for (const Device d : test_devices()) reserve_streams(d, 100);
    const DrainedGate gate;
    const Stream busy(test_device());
    gate.hold(busy);
    launch_host(busy, [] {});
    StreamPool pool(test_device(), {.max_streams = 100});
    std::vector<StreamPool::Lease> leases;
    for (int i = 0; i < 99; ++i) leases.push_back(pool.lease());
    CHECK(pool.size() == 99);
    CHECK_FALSE(busy.is_complete());
}

TEST_CASE("streams that were reserved are made beside a busy device") {
    check_test_case("child: makes streams beside a busy device");
}

TEST_CASE("more streams than a driver can keep are not reserved") {
    reserve_streams(test_device(), 0);
    const std::optional<Error> error = error_of([] { reserve_streams(test_device(), 5000); });
    REQUIRE(error);
    CHECK(mentions(*error, "at most 4096"));
}

TEST_CASE("leases held at the same time are different streams") {
    StreamPool pool(test_device());
    std::vector<StreamPool::Lease> leases;
    std::set<std::uint64_t> ids;
    for (int i = 0; i < 20; ++i) {
        leases.push_back(pool.lease());
        ids.insert(leases.back().id());
    }
    CHECK(ids.size() == 20);
    CHECK(pool.leased() == 20);
    CHECK(pool.size() == 20);
    leases.clear();
    CHECK(pool.leased() == 0);
    CHECK(pool.size() == 20);
}

TEST_CASE("a returned idle stream is leased again") {
    StreamPool pool(test_device());
    std::uint64_t first = 0;
    {
        const StreamPool::Lease lease = pool.lease();
        first = lease.id();
        launch_host(lease, [] {});
        lease.synchronize();
    }
    for (int i = 0; i < 5; ++i) CHECK(pool.lease().id() == first);
    CHECK(pool.size() == 1);
}

TEST_CASE("a stream that was returned with work to do is not the next lease while there is room") {
    DrainedGate gate;
    StreamPool pool(test_device());
    std::uint64_t busy = 0;
    {
        const StreamPool::Lease lease = pool.lease();
        busy = lease.id();
        gate.hold(lease);
        launch_host(lease, [] {});
    }
    const StreamPool::Lease next = pool.lease();
    CHECK(next.id() != busy);
    launch_host(next, [] {});
    next.synchronize();  // does not wait for the work of the other lease
}

TEST_CASE("at its limit a pool leases a busy stream, and its earlier work goes first") {
    const OrderLog seen;
    DrainedGate gate;
    StreamPool pool(test_device(), {.max_streams = 1, .shared = 1});
    {
        const StreamPool::Lease lease = pool.lease();
        gate.hold(lease);
        seen.note(lease, "earlier");
    }
    const StreamPool::Lease next = pool.lease();
    seen.note(next, "later");
    check_opened(seen, gate, next, {"earlier", "later"});
    CHECK(pool.size() == 1);
}

TEST_CASE("more leases than max_streams are a usage error, until one is returned") {
    StreamPool pool(test_device(), {.max_streams = 3, .shared = 1});
    StreamPool::Lease a = pool.lease(), b = pool.lease(), c = pool.lease();
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([&] { (void)pool.lease(); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(error.where().line == line);
    CHECK_THAT(error.what(), contains("3"));
    CHECK(pool.leased() == 3);
    b = StreamPool::Lease();
    CHECK(pool.leased() == 2);
    const StreamPool::Lease d = pool.lease();
    CHECK_FALSE(d == a);
    CHECK_FALSE(d == c);
}

TEST_CASE("a lease has the priority it asked for") {
    StreamPool pool(test_device());
    const PriorityRange range = test_device().priorities();
    CHECK(pool.lease(range.greatest).priority() == range.greatest);
    CHECK(pool.lease(range.least).priority() == range.least);
    CHECK(pool.lease(range.greatest - 5).priority() == range.greatest);
    const StreamPool::Lease high = pool.lease(range.greatest), low = pool.lease(range.least);
    CHECK(high.priority() == range.greatest);
    CHECK(low.priority() == range.least);
}

TEST_CASE("a lease moves") {
    StreamPool pool(test_device());
    StreamPool::Lease a = pool.lease();
    const std::uint64_t id = a.id();
    StreamPool::Lease b = std::move(a);
    CHECK(b.id() == id);
    CHECK_FALSE(static_cast<bool>(a));
    CHECK(pool.leased() == 1);
    StreamPool::Lease c = pool.lease();
    c = std::move(b);
    CHECK(c.id() == id);
    CHECK(pool.leased() == 1);
}

TEST_CASE("a lease that is none is refused like any reference to nothing") {
    const StreamPool::Lease none;
    CHECK_FALSE(static_cast<bool>(none));
    CHECK_THROWS_AS(launch_host(none, [] {}), UsageError);
}

TEST_CASE("a lease may outlive its pool") {
    StreamPool::Lease lease;
    {
        StreamPool pool(test_device());
        lease = pool.lease();
    }
    std::atomic<bool> ran{false};
    launch_host(lease, [&] { ran = true; });
    lease.synchronize();
    CHECK(ran);
}

TEST_CASE("a pool may be destroyed with work to do on its streams") {
    const Drained drained;
    std::atomic<int> ran{0};
    Gate gate;
    {
        StreamPool pool(test_device());
        for (int i = 0; i < 5; ++i) {
            const StreamPool::Lease lease = pool.lease();
            gate.hold(lease);
            launch_host(lease, [&] { ++ran; });
        }
        launch_host(pool.shared(), [&] { ++ran; });
    }
    gate.open();
    CHECK(eventually([&] { return ran == 6; }));
}

TEST_CASE("shared streams come in turn, as many as asked for, of each priority") {
    StreamPool pool(test_device(), {.max_streams = 64, .shared = 3});
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 9; ++i) ids.push_back(pool.shared().id());
    CHECK(std::set<std::uint64_t>(ids.begin(), ids.end()).size() == 3);
    for (std::size_t i = 3; i < 9; ++i) CHECK(ids[i] == ids[i - 3]);
    const int urgent = test_device().priorities().greatest;
    CHECK(pool.shared(urgent).priority() == urgent);
    CHECK(std::find(ids.begin(), ids.end(), pool.shared(urgent).id()) == ids.end());
}

TEST_CASE("an exclusive lease is never a shared stream") {
    StreamPool pool(test_device(), {.max_streams = 64, .shared = 2});
    std::set<std::uint64_t> shared;
    for (int i = 0; i < 4; ++i) shared.insert(pool.shared().id());
    std::vector<StreamPool::Lease> leases;
    for (int i = 0; i < 10; ++i) {
        leases.push_back(pool.lease());
        CHECK(shared.count(leases.back().id()) == 0);
    }
    for (int i = 0; i < 4; ++i) {
        const std::uint64_t id = pool.shared().id();
        for (const StreamPool::Lease& lease : leases) CHECK(lease.id() != id);
    }
}

TEST_CASE("a pool knows how many streams can really run side by side") {
    StreamPool pool(test_device());
    CHECK(pool.concurrent_queues() >= 1);
    if (test_device().is_cpu()) CHECK(pool.concurrent_queues() == test_device().info().processors);
}

TEST_CASE("many threads lease from one pool, and no stream is leased twice at a time") {
    StreamPool pool(test_device(), {.max_streams = 64, .shared = 4});
    std::atomic<int> wrong{0};
    std::mutex mutex;
    std::set<std::uint64_t> held;
    on_threads(8, [&] {
        for (std::size_t i = 0; i < repetitions(200, 50); ++i) {
            const StreamPool::Lease lease = pool.lease();
            {
                const std::lock_guard lock(mutex);
                wrong += !held.insert(lease.id()).second;
            }
            launch_host(lease, [] {});
            const std::lock_guard lock(mutex);
            held.erase(lease.id());
        }
    });
    CHECK(wrong == 0);
    CHECK(pool.leased() == 0);
    synchronize_device(test_device());
}

TEST_CASE("a stream that was poisoned under one lease is usable under the next") {
    StreamPool pool(test_device(), {.max_streams = 1, .shared = 1});
    {
        const StreamPool::Lease lease = pool.lease();
        poison(lease);
    }
    const StreamPool::Lease next = pool.lease();
    CHECK_FALSE(next.is_poisoned());
    std::atomic<bool> ran{false};
    launch_host(next, [&] { ran = true; });
    next.synchronize();
    CHECK(ran);
}

TEST_CASE("a stream that fails after its lease was returned is usable under the next") {
    DrainedGate gate;
    StreamPool pool(test_device(), {.max_streams = 1, .shared = 1});
    const Flag failing;
    {
        const StreamPool::Lease lease = pool.lease();
        gate.hold(lease);
        launch_host(lease, [failing] {
            failing.set();
            throw Boom("late");
        });
    }
    gate.open();
    REQUIRE(failing.wait());
    (void)error_of([] { synchronize_device(test_device()); });  // makes the failure known
    const StreamPool::Lease next = pool.lease();
    std::atomic<bool> ran{false};
    launch_host(next, [&] { ran = true; });
    CHECK_FALSE(error_of([&] { next.synchronize(); }));
    CHECK(ran);
}

TEST_CASE("a stream that was returned in a capture is not the next lease, and its work there is in "
          "the graph") {
    const Stream s(test_device());
    Array<int> x = ready_zeros<int>(s, 1);
    StreamPool pool(test_device(), {.max_streams = 1, .shared = 1});
    Graph graph = capture(s, [&] {
        {
            const StreamPool::Lease lease = pool.lease();
            lease.wait_stream(s);
            launch(lease, Add{}, dim(1), x, 1);
            s.wait_stream(lease);
        }
        const StreamPool::Lease next = pool.lease();
        CHECK_FALSE(next.is_capturing());
    });
    graph.launch(s);
    CHECK(to_host(s, x) == Ints{1});
    CHECK(pool.size() == 1);
}

TEST_CASE(
    "a stream that was returned in a capture without being joined is named when the capture ends") {
    const Stream s(test_device());
    StreamPool pool(test_device());
    std::uint64_t id = 0;
    ScopedCapture scope(s);
    {
        const StreamPool::Lease lease = pool.lease();
        id = lease.id();
        lease.wait_stream(s);
        launch_host(lease, [] {});
    }
    CHECK(
        mentions(error_of([&] { (void)scope.end(); }), "'pool stream " + std::to_string(id) + "'"));
}

TEST_CASE("shared streams that take part in a capture are handed out in that capture only") {
    const Stream outer(test_device()), inner(test_device());
    StreamPool pool(test_device(), {.max_streams = 1, .shared = 2});
    std::set<std::uint64_t> in_outer;
    const Graph graph = capture(outer, [&] {
        for (int i = 0; i < 4; ++i) {
            const StreamRef shared = pool.shared();
            in_outer.insert(shared.id());
            shared.wait_stream(outer);
            launch_host(shared, [] {});
            outer.wait_stream(shared);
        }
        CHECK(in_outer.size() == 2);
        CHECK(in_outer.count(pool.shared().id()) == 1);
        const Graph other = capture(inner, [&] {
            for (int i = 0; i < 4; ++i) {
                const StreamRef shared = pool.shared();
                CHECK(in_outer.count(shared.id()) == 0);
                shared.wait_stream(inner);
                launch_host(shared, [] {});
                inner.wait_stream(shared);
            }
        });
        std::thread([&] {
            for (int i = 0; i < 4; ++i) CHECK_FALSE(pool.shared().is_capturing());
        }).join();
    });
    CHECK(pool.size() == 4);
}
