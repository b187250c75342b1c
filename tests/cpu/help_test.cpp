// A thread that waits for work runs ready operations that precede that work.
#include <deque>
#include <mutex>
#include <thread>

#include "cpu/workers.hpp"
#include "support.hpp"

using namespace heddle_test;

TEST_CASE("child: a chain of streams", "[.child]") {
    constexpr int length = 20'000;
    const Drained drained;
    const HeldWorkers workers;
    int ran = 0;
    std::deque<Stream> chain;
    for (int i = 0; i < length; ++i) {
        const Stream& stream = chain.emplace_back(cpu_device());
        if (i != 0) stream.wait_stream(chain[chain.size() - 2]);
        launch_host(stream, [&ran, i] { ran += ran == i ? 1 : 0; });
    }
    chain.back().synchronize();
    CHECK(ran == length);
}
TEST_CASE("a thread that waits for the end of a chain of 20,000 streams needs no worker", "[cpu]") {
    check_with_workers("child: a chain of streams");
}

TEST_CASE("child: what a wait depends on", "[.child]") {
    const Drained drained;
    const HeldWorkers workers;
    OrderLog order;
    const Stream unrelated(cpu_device(), {.priority = -5}), first(cpu_device()),
        second(cpu_device()), last(cpu_device());
    {
        const Stream destroyed(cpu_device());
        order.note(destroyed, "destroyed");
        first.wait_stream(destroyed);
    }
    order.note(first, "first");
    const Event graph_begins = first.record_event();
    auto wait = wait_node(graph_begins);
    auto task = host_node([order] { order.add("graph"); }).after(wait);
    task.build().launch(second);
    const Event done = second.record_event();
    order.note(second, "behind");
    last.wait_event(done);
    order.note(last, "last");
    const Event end = last.record_event();
    end.synchronize();
    CHECK(order.seen() == std::vector<std::string>{"destroyed", "first", "graph", "last"});
    order.note(unrelated, "unrelated");
}
TEST_CASE("a thread that waits runs what that depends on: streams, graphs, destroyed streams",
          "[cpu]") {
    check_with_workers("child: what a wait depends on");
}

TEST_CASE("child: more urgent work is ready", "[.child]") {
    std::atomic<bool> urgent_ran{false};  // set when the workers are free again
    int ran = 0;
    const Drained drained;
    const HeldWorkers workers;
    const Stream urgent(cpu_device(), {.priority = -5}), low(cpu_device()), after(cpu_device());
    launch_host(urgent, [&] { urgent_ran = true; });
    for (int i = 0; i < 3; ++i) launch_host(low, [&] { ++ran; });
    after.wait_stream(low);
    after.synchronize();
    CHECK(ran == 3);
    CHECK_FALSE(urgent_ran);
}
TEST_CASE("a thread that waits goes on although more urgent work waits for a worker", "[cpu]") {
    check_with_workers("child: more urgent work is ready");
}

TEST_CASE("child: the awaited work becomes ready late", "[.child]") {
    const Drained drained;
    const HeldWorkers workers;
    Gate gate;
    int ran = 0;
    const Stream first(cpu_device()), second(cpu_device());
    gate.hold(first);
    launch_host(first, [&] { ++ran; });
    second.wait_stream(first);
    launch_host(second, [&] { ++ran; });
    std::thread waits([&] { second.synchronize(); });
    gate.open();
    waits.join();
    CHECK(ran == 2);
}
TEST_CASE("a thread that waits runs what becomes ready later", "[cpu]") {
    check_with_workers("child: the awaited work becomes ready late");
}

TEST_CASE("child: a mutex is held", "[.child]") {
    const Drained drained;
    std::recursive_mutex mutex;
    std::thread::id ran_on;
    const Stream stream(cpu_device()), waits(cpu_device());
    {
        const HeldWorkers workers;
        const std::lock_guard lock(mutex);
        launch_host(stream, [&] {
            const std::lock_guard in(mutex);
            ran_on = std::this_thread::get_id();
        });
        const Event after = stream.record_event();
        waits.wait_event(after);
        CHECK_FALSE(after.is_complete());
        CHECK_FALSE(waits.is_complete());
        CHECK(ran_on == std::thread::id());  // it was only enqueued, and did not run here
        waits.synchronize();
        if (!HEDDLE_TEST_TSAN) CHECK(ran_on == std::this_thread::get_id());
    }
}
TEST_CASE("host functions run on threads that wait, and in no call that only enqueues", "[cpu]") {
    check_with_workers("child: a mutex is held");
}
