// On GPUs, an allocation is work of its stream. Other streams that use the memory wait for it.
#include "kernel_launches.hpp"
#include "support.hpp"
#include "waits_of.hpp"

#include <heddle/by_data.hpp>

#include <thread>

using namespace heddle_test;

namespace {

// A number of ints. Other tests allocate no arrays of this size class.
constexpr std::size_t n = 54'321;

}  // namespace

TEST_CASE("a wait is needed for a stream that only ever allocated memory") {
    const Stream a(test_device()), b(test_device());
    CHECK(waits_of([&] { a.wait_stream(b); }) == elided);
    const Array<int> x = empty<int>(b, n), none = empty<int>(b, 0);
    CHECK(waits_of([&] { a.wait_stream(b); }) == wait_for_new_memory());
    CHECK(waits_of([&] { a.wait_stream(b); }) == elided);
    const Array<int> nothing = empty<int>(b, 0);
    CHECK(waits_of([&] { a.wait_stream(b); }) == elided);
}

TEST_CASE("a scope waits for the memory that the stream around it has got") {
    const Stream a(test_device()), b(test_device());
    const ScopedStream in(a, {.wait_on_enter = false});  // a wait on entry would be work of `a`
    const Array<int> x = empty<int>(n);
    CHECK(waits_of([&] { const ScopedStream inner{b}; }) == wait_for_new_memory());
}

TEST_CASE("memory that a stream has kept makes no wait necessary that its work does not") {
    const Stream a(test_device()), b(test_device());
    empty<int>(b, n).reset();
    a.wait_stream(b);
    const std::size_t hits = memory_stats(test_device()).cache_hits;
    Array<int> x;
    const Waits now = waits_of([&] {
        x = empty<int>(b, n);
        a.wait_stream(b);
    });
    CHECK(now == (memory_stats(test_device()).cache_hits > hits ? elided : wait_for_new_memory()));
}

TEST_CASE("a wait for a stream with new memory is one for what that memory is still used for") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Gate gate;
    Array<int> old = full<int>(b, n, 1);
    a.wait_stream(b);
    gate.hold(b);
    fill(b, old, 2);
    old.reset();
    Array<int> x = empty<int>(b, n);
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
    launch(a, Set{}, dim(n), x, 3);
    finish_work(test_device());
    CHECK_FALSE(a.is_complete());
    gate.open();
    CHECK(to_host(a, x) == Ints(n, 3));
}

TEST_CASE("an event that was recorded behind an allocation alone is waited for") {
    const Stream a(test_device()), b(test_device());
    const Array<int> x = empty<int>(b, n);
    const Event event = b.record_event();
    CHECK(event.is_recorded());
    CHECK(waits_of([&] { a.wait_event(event); }) == inserted);
    event.synchronize();
    CHECK(event.is_complete());
}

TEST_CASE("a branch of fork_join that has only got memory is joined") {
    const Stream base(test_device());
    const auto waits_with = [&](auto&& branch) {
        const ScopedStream in(base, {.wait_on_enter = false});
        return waits_of([&] { fork_join(branch, [] {}); }).inserted;
    };
    // The fork makes two waits. The base joins a branch without work only if it has not waited for
    // earlier work of the branch's stream. Such work is, for example, a previous fork.
    std::uint64_t all = 0;
    for (int i = 0; i < 3 && all != 4; ++i) all = waits_with([] {});
    REQUIRE(all == 4);
    Array<int> x;
    CHECK(waits_with([&] { x = empty<int>(n); }) == 2 + wait_for_new_memory().inserted);
}

TEST_CASE("launches of a graph come after the allocation of the memory that it owns", "[graphs]") {
    const Stream s(test_device());
    s.wait_stream(default_stream(test_device()));
    Graph graph = capture(s, [&] { const Array<int> x = zeros<int>(s, n); });
    CHECK(waits_of([&] { graph.launch(s); }).inserted == wait_for_new_memory().inserted);
    CHECK(waits_of([&] { graph.launch(s); }).inserted == 0);
}

TEST_CASE("threads that hand on a stream's new memory order its use by waiting for the stream") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    std::atomic<Array<int>*> made{nullptr};
    Array<int> x;
    std::thread maker([&] {
        x = empty<int>(b, n);
        made.store(&x, std::memory_order_release);
    });
    while (made.load(std::memory_order_acquire) == nullptr) std::this_thread::yield();
    CHECK(waits_of([&] { a.wait_stream(b); }) == wait_for_new_memory());
    fill(a, *made.load(), 4);
    maker.join();
    CHECK(to_host(a, x) == Ints(n, 4));
}

TEST_CASE("by data: an order begins after the memory that the current stream has got",
          "[by_data]") {
    const Stream s(test_device());
    const ScopedStream in(s, {.wait_on_enter = false});
    const Array<int> x = empty<int>(n);
    const Waits begun = waits_of([] { const DataOrder order(test_device(), {.streams = 2}); });
    // If an order has no operations, its end makes no wait.
    CHECK((begun.inserted != 0) == test_device().is_cuda());
}

TEST_CASE("by data: what an order has allocated on one stream is waited for on another",
          "[by_data]") {
    for (const DataWaits waits : {DataWaits::newest, DataWaits::exact}) {
        const Stream s(test_device());
        const ScopedStream in(s);
        DataOrder order(test_device(),
                        {.streams = 2, .waits = waits, .spread = DataSpread::always});
        Array<int> x = empty<int>(order, n), y = empty<int>(order, n);
        // One of the two arrays is on the other stream.
        const Waits used = waits_of([&] { order.task({writes(x), writes(y)}, [](StreamRef) {}); });
        if (test_device().is_cuda()) CHECK(used.inserted == 1);
    }
}
