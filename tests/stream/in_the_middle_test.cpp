// Queries, waits, enqueues and destruction while another thread is within a call (see the table in
// docs/internals.md). batch_window_test.cpp tests streams that join a batch during a call.
#include "core/recording/recorder.hpp"
#include "kernel_launches.hpp"
#include "stream/holding_backend.hpp"
#include "support.hpp"

#include <memory>
#include <optional>
#include <thread>

using namespace heddle_test;

TEST_CASE("who asks or waits for a stream to which another thread is about to enqueue something is "
          "not held up by that") {
    const Stream s(cpu_device()), other(cpu_device());
    const OrderLog seen;
    const Drained drained;
    HoldingBackend backend;
    backend.take(s);
    seen.note(s, "before");
    const StopPoint stop;
    backend.in_enqueue = [&] { stop.stop(); };
    std::thread second([&] { seen.note(s, "late"); });
    stop.reached.wait();
    s.synchronize();
    CHECK(s.is_complete());
    other.wait_stream(s);
    seen.note(other, "other");
    other.synchronize();
    CHECK(seen.seen() == Strings{"before", "other"});
    stop.go.set();
    second.join();
    s.synchronize();
    CHECK(seen.has("late"));
}

TEST_CASE("a wait that another thread is in the middle of covers the stream's work "
          "before, and lets no later wait be left out") {
    const Stream a(cpu_device()), b(cpu_device());
    const OrderLog seen;
    const Drained drained;
    HoldingBackend backend;
    backend.take(a);
    backend.take(b);
    launch_host(b, [] {});
    const StopPoint stop;
    backend.in_wait = [&] { stop.stop(); };
    std::thread second([&] { a.wait_stream(b); });
    stop.reached.wait();
    Gate gate(b);
    seen.note(b, "b");
    SECTION("another one meanwhile") {
        a.wait_stream(b);
        stop.go.set();
        second.join();
    }
    SECTION("another one afterwards") {
        stop.go.set();
        second.join();
        a.wait_stream(b);
    }
    seen.note(a, "a");
    finish_work(cpu_device());
    CHECK(seen.seen().empty());
    check_opened(seen, gate, a, {"b", "a"});
}

TEST_CASE("another thread cannot ask or wait for what takes part in a capture; what it enqueues "
          "there is captured, and what waits there joins") {
    const Drained drained;
    const Stream s(test_device()), theirs(test_device());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, 10);
    s.synchronize();
    int refused = 0;
    Graph graph = capture(s, [&] {
        launch(s, Add{}, dim(10), x, 1);
        on_another_thread([&] {
            refused += mentions(error_of([&] { s.synchronize(); }), "capturing");
            refused += mentions(error_of([&] { (void)s.is_complete(); }), "capturing");
            launch(s, Add{}, dim(10), x, 1);
            theirs.wait_stream(s);
            launch(theirs, Add{}, dim(10), y, 1);
        });
        s.wait_stream(theirs);
    });
    CHECK(refused == 2);
    CHECK(graph.size() == 3);
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(10, 2));
    CHECK(to_host(s, y) == Ints(10, 1));
}

TEST_CASE("another thread that waits for a device does not wait for what is captured there, and is "
          "not refused") {
    const Drained drained;
    const Stream s(test_device());
    const Flag ran;
    Graph graph = capture(s, [&] {
        launch_host(s, [ran] { ran.set(); });
        std::optional<Error> error;
        on_another_thread([&] { error = error_of([&] { synchronize_device(test_device()); }); });
        CHECK_FALSE(error);
    });
    CHECK_FALSE(ran.is_set());
    CHECK(graph.size() == 1);
}

TEST_CASE("a stream of a capture that another thread destroys leaves its work in the graph") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = ready_zeros<int>(s, 10);
    Graph graph = capture(s, [&] {
        auto side = std::make_unique<Stream>(test_device());
        side->wait_stream(s);
        launch(*side, Add{}, dim(10), x, 1);
        s.wait_stream(*side);
        on_another_thread([&] { side.reset(); });
        launch(s, Add{}, dim(10), x, 1);
    });
    graph.launch(s);
    CHECK(to_host(s, x) == Ints(10, 2));
}

TEST_CASE("a stream of a batch that another thread destroys loses no work") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = ready_zeros<int>(s, 10);
    Batch step({.on_cpu = true});
    {
        const ScopedBatch batch(step, s);
        auto side = std::make_unique<Stream>(test_device());
        side->wait_stream(s);
        launch(*side, Add{}, dim(10), x, 1);
        s.wait_stream(*side);
        on_another_thread([&] { side.reset(); });
        launch(s, Add{}, dim(10), x, 1);
    }
    CHECK(to_host(s, x) == Ints(10, 2));
}

TEST_CASE("while a batch is being sent, who asks is told \"not complete\" at once, who waits "
          "sleeps until it has been sent, and what is enqueued comes after it") {
    const Stream s(cpu_device()), theirs(cpu_device());
    const OrderLog seen;
    const Drained drained;
    HoldingBackend backend;
    backend.take(s);
    backend.take(theirs);
    Batch step({.on_cpu = true});
    ScopedBatch batch(step, s);
    seen.note(s, "recorded");
    detail::Recorder& recorder = *detail::record_of(s).recorder.load();
    std::optional<bool> complete;
    std::thread waits;
    backend.in_instantiate = [&] {
        on_another_thread([&] { complete = s.is_complete(); });
        SECTION("waits") {
            waits = std::thread([&] {
                s.synchronize();
                seen.add("waited");
            });
        }
        SECTION("a stream waits") {
            waits = std::thread([&] {
                theirs.wait_stream(s);
                seen.note(theirs, "waited");
                theirs.synchronize();
            });
        }
        SECTION("enqueues") {
            waits = std::thread([&] {
                seen.note(s, "waited");
                s.synchronize();
            });
        }
        CHECK(eventually([&] { return recorder.lock.is_awaited(); }));
        CHECK(seen.seen().empty());
    };
    batch.flush();
    waits.join();
    batch.end();
    CHECK(complete == false);
    CHECK(seen.seen() == Strings{"recorded", "waited"});
}

TEST_CASE(
    "a thread that comes after one that ended with a batch or capture open is another thread") {
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    Batch step({.on_cpu = true});
    std::unique_ptr<ScopedBatch> batch;
    std::unique_ptr<ScopedCapture> captured;
    SECTION("batch") {
        on_another_thread([&] {
            batch = std::make_unique<ScopedBatch>(step, s);
            launch_host(s, [] {});
        });
        for (int i = 0; i < 10; ++i)  // one of these threads may get the id of the ended thread
            on_another_thread([&] {
                other.wait_stream(s);
                CHECK_FALSE(detail::record_of(other).has(detail::stream_flag::recording));
            });
        batch.reset();
    }
    SECTION("capture") {
        const Reports reports;  // collects the report that another thread leaves the scope
        on_another_thread([&] { captured = std::make_unique<ScopedCapture>(s); });
        for (int i = 0; i < 10; ++i)
            on_another_thread(
                [&] { CHECK_FALSE(error_of([&] { synchronize_device(test_device()); })); });
        captured.reset();
    }
}
