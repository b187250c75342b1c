// Memory that is allocated in a batch. The batch's first stream allocates the memory immediately,
// in the order of that stream's work, and also for the batch's other streams.
#include "core/stream/recorded_calls.hpp"
#include "kernel_launches.hpp"
#include "support.hpp"

#include <thread>

using namespace heddle_test;

namespace {

// A number of ints. Other tests allocate no arrays of this size class.
constexpr std::size_t n = 43'210;

/// A batch with a second stream. The work recorded so far has been submitted.
struct Joined {
    Stream first{test_device()}, second{test_device()}, outside{test_device()};
    Batch batch{{.on_cpu = true}};
    ScopedBatch in{batch, first};

    Joined() {
        second.wait_stream(first);
        launch_host(second, [] {});
        in.flush();
    }
    /// Allocates memory for the second stream. An allocation is no work on CPU devices, so this
    /// orders the second stream after the first one, as an allocation on a GPU would.
    Array<int> allocate() {
        Array<int> x = empty<int>(second, n);
        if (test_device().is_cpu())
            detail::order_after_allocation(record(second), record(first), {});
        return x;
    }
    /// Waits on another thread. On this thread, the waiting stream would join the batch.
    void wait_outside(StreamRef waited_for) {
        std::thread([&] { outside.wait_stream(waited_for); }).join();
    }
    std::size_t sent() const { return batch.last().graphs; }

    static detail::StreamRecord& record(StreamRef stream) { return detail::record_of(stream); }
};

}  // namespace

TEST_CASE("who waits for a stream in a batch comes after the memory that it has got there") {
    const Drained drained;
    Joined on;
    REQUIRE(on.sent() == 1);
    on.wait_outside(on.second);
    CHECK(on.sent() == 1);  // there was nothing to submit
    const Array<int> x = on.allocate();
    on.wait_outside(on.second);
    CHECK(on.sent() == 2);
    on.wait_outside(on.second);
    CHECK(on.sent() == 2);
}

TEST_CASE("a stream that leaves a batch with new memory leaves it once that is ordered") {
    const Drained drained;
    Joined on;
    const Array<int> x = on.allocate();
    detail::leave_batch_when_sent(on.record(on.second));
    CHECK(detail::is_recorded(on.record(on.second)));
    on.in.flush();
    CHECK(on.sent() == 2);
    CHECK_FALSE(detail::is_recorded(on.record(on.second)));
}

TEST_CASE("work behind an allocation in a batch is sent as if there were none") {
    const Drained drained;
    Joined on;
    Array<int> x = on.allocate();
    fill(on.second, x, 5);
    on.in.flush();
    CHECK(on.batch.last().operations == 2);  // these are the host function and the fill
    on.wait_outside(on.second);
    CHECK(on.sent() == 2);
    CHECK(to_host(on.outside, x) == Ints(n, 5));
}

TEST_CASE("a wait for a stream that has only got memory in a batch is one on GPUs") {
    const Drained drained;
    const Stream first(test_device()), outside(test_device());
    Batch batch({.on_cpu = true});
    const ScopedBatch in(batch, first);
    const Array<int> x = empty<int>(first, n);
    const OpCounter counted;
    std::thread([&] { outside.wait_stream(first); }).join();
    CHECK(counted.stats().waits_inserted == (test_device().is_cuda() ? 1 : 0));
    CHECK(batch.last().graphs == 0);
}
