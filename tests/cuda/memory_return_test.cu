// Freed memory returns to its pool: on any thread, and while other freed memory is still in use.
#include "../kernels.hpp"
#include "../support.hpp"

#include <heddle/cuda.hpp>

#include <deque>
#include <set>

using namespace heddle_test;

namespace {

Device gpu() { return Device("cuda:0"); }

// Numbers of ints. Other tests allocate no blocks of these sizes.
constexpr std::size_t large = 1 << 20;
constexpr std::size_t larger = 3 << 20;

}  // namespace

CUDA_TEST_CASE("pinned blocks behind a stalled stream do not keep others from being used again") {
    const Drained drained;
    const Stream stalled(gpu()), s(gpu());
    Array<int> x = zeros<int>(stalled, large), y = zeros<int>(s, large);
    synchronize();
    Gate gate(stalled);
    for (int i = 0; i < 12; ++i) copy(stalled, x, pinned<int>(large));
    std::set<const int*> used;
    for (int i = 0; i < 50; ++i) {
        const Array<int> block = pinned<int>(large);
        used.insert(block.data());
        copy(s, y, block);
        s.synchronize();
    }
    CHECK(used.size() <= 2);
}

CUDA_TEST_CASE("what dies in host functions comes back in a loop that waits for events only") {
    const Drained drained;
    const Stream s(gpu());
    s.synchronize();
    const std::size_t before = memory_stats(gpu()).in_use;
    std::set<const int*> used;
    Event done(gpu());
    for (int i = 0; i < 50; ++i) {
        Array<int> block = pinned<int>(larger), x = empty<int>(s, larger);
        used.insert(block.data());
        launch_host(s, [block = std::move(block), x = std::move(x)] {});
        done.record(s);
        if (i % 2 == 0) done.synchronize();
        else CHECK(eventually([&] { return done.is_complete(); }));
    }
    // A host function's arrays may exist for a short time after `done` has completed.
    CHECK(used.size() <= 4);
    CHECK(eventually([&] { return memory_stats(gpu()).in_use <= before; }));
}

CUDA_TEST_CASE(
    "what died in a host function comes back though nothing is asked of its device any more") {
    const Drained drained;
    const Stream s(gpu());
    Array<int> x = empty<int>(s, large);
    s.synchronize();
    const std::size_t before = memory_stats(gpu()).in_use;
    const Flag ran;
    launch_host(s, [x = std::move(x), ran] { ran.set(); });
    REQUIRE(ran.wait());
    CHECK(
        eventually([&] { return memory_stats(gpu()).in_use < before; }));  // runs no deferred work
}

CUDA_TEST_CASE("memory that long waits hold up does not hold up other memory of several streams") {
    const Drained drained;
    std::deque<Gate> gates(6);
    std::deque<Stream> held;
    for (Gate& gate : gates) {
        const Stream& a = held.emplace_back(gpu());
        const Stream& b = held.emplace_back(gpu());
        Array<int> x = zeros<int>(a, 1000);
        b.wait_stream(a);
        gate.hold(b);
        launch(b, Add{}, dim(1000), x, 1);
    }  // each array is freed while a gate holds its work
    const Stream a(gpu()), b(gpu()), slow(gpu());
    Array<int> x = zeros<int>(a, large), y = zeros<int>(a, large);
    b.wait_stream(a);
    launch(b, Add{}, dim(large), x, 1);
    slow.wait_stream(a);
    Gate last;
    last.hold(slow);
    launch(slow, Add{}, dim(large), y, 1);
    b.synchronize();
    const std::size_t before = memory_stats(gpu()).in_use;
    x.reset();  // all work on x has completed
    CHECK(eventually([&] { return memory_stats(gpu()).in_use + large * sizeof(int) <= before; }));
    y.reset();  // some work on y has not completed
    last.open();
    slow.synchronize();
    CHECK(
        eventually([&] { return memory_stats(gpu()).in_use + 2 * large * sizeof(int) <= before; }));
    for (Gate& gate : gates) gate.open();
}

CUDA_TEST_CASE(
    "two threads that wait for one event at once are both told, and its next record is another") {
    const Drained drained;
    const Stream source(gpu());
    Event event(gpu());
    for (int round = 0; round < 200; ++round) {
        Gate gate, next;
        const Stream first(cpu_device()), second(cpu_device());
        gate.hold(source);
        event.record(source);
        const Flag go;
        std::thread other([&] {
            (void)go.wait();
            first.wait_event(event);
        });
        go.set();
        second.wait_event(event);
        other.join();
        next.hold(source);
        event.record(source);  // the waits still refer to the event's previous record
        gate.open();
        first.synchronize();
        second.synchronize();
        CHECK_FALSE(event.is_complete());
        next.open();
        event.synchronize();
    }
}
