// Work that should run concurrently really overlaps: kernels wait for flags of other kernels.
#include "../gpu_clock.hpp"
#include "../support.hpp"

#include <heddle/cuda.hpp>
#include <heddle/observe/check.hpp>

using namespace heddle_test;

namespace {

Device gpu() { return Device("cuda:0"); }

/// Increments *arrived, and then waits until *arrived is `all`, but at most for limit_ns. Unless
/// the wait times out, sets met[self] to 1.
__global__ void meet(int* arrived, int all, int* met, int self, std::uint64_t limit_ns) {
    atomicAdd(arrived, 1);
    const std::uint64_t begin = now_on_gpu();
    while (atomicAdd(arrived, 0) < all)
        if (now_on_gpu() - begin > limit_ns) return;
    met[self] = 1;
}

/// Returns a time limit for kernels that would hang without it.
std::uint64_t limit_ns() {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(patience(std::chrono::seconds(10))).count());
}

}  // namespace

CUDA_TEST_CASE("kernels on two streams run at the same time") {
    const check::ScopedOff races;  // these kernels share flags on purpose
    const Stream a(gpu()), b(gpu());
    Array<int> arrived = zeros<int>(a, 1), met = zeros<int>(a, 2);
    b.wait_stream(a);
    launch(a, meet, grid(1, 1), arrived, 2, met, 0, limit_ns());
    launch(b, meet, grid(1, 1), arrived, 2, met, 1, limit_ns());
    a.wait_stream(b);
    CHECK(to_host(a, met) == std::vector<int>{1, 1});
}

CUDA_TEST_CASE("the branches of a fork run at the same time") {
    const check::ScopedOff races;  // these kernels share flags on purpose
    const Stream base(gpu());
    constexpr int branches = 6;  // less than the number of a GPU's hardware queues
    Array<int> arrived = zeros<int>(base, 1), met = zeros<int>(base, branches);
    fork_join_n(base, branches, [&](std::size_t i) {
        launch(meet, grid(1, 1), arrived, branches, met, static_cast<int>(i), limit_ns());
    });
    CHECK(to_host(base, met) == std::vector<int>(branches, 1));
}

CUDA_TEST_CASE("a scope without waiting runs beside the stream it replaces") {
    const check::ScopedOff races;  // these kernels share flags on purpose
    const Stream outer(gpu()), inner(gpu());
    Array<int> arrived = zeros<int>(outer, 1), met = zeros<int>(outer, 2);
    outer.synchronize();
    const ScopedStream in{outer};
    launch(meet, grid(1, 1), arrived, 2, met, 0, limit_ns());
    {
        const ScopedStream in_inner{inner, {.wait_on_enter = false, .wait_on_exit = true}};
        launch(meet, grid(1, 1), arrived, 2, met, 1, limit_ns());
    }
    CHECK(to_host(outer, met) == std::vector<int>{1, 1});
}

CUDA_TEST_CASE("leases of a pool run at the same time") {
    const check::ScopedOff races;  // these kernels share flags on purpose
    StreamPool pool(gpu());
    const StreamPool::Lease a = pool.lease(), b = pool.lease(), c = pool.lease();
    Array<int> arrived = zeros<int>(a, 1), met = zeros<int>(a, 3);
    a.synchronize();
    int self = 0;
    for (StreamRef s : {StreamRef(a), StreamRef(b), StreamRef(c)})
        launch(s, meet, grid(1, 1), arrived, 3, met, self++, limit_ns());
    b.synchronize();
    c.synchronize();
    CHECK(to_host(a, met) == std::vector<int>(3, 1));
}

CUDA_TEST_CASE("pinned copies in both directions and a kernel are under way together") {
    const check::ScopedOff races;  // these kernels share flags on purpose
    // The kernel ends only after the fill has run. The fill is enqueued after copies on other
    // streams have completed.
    const Drained drained;
    const Stream compute(gpu()), up(gpu()), down(gpu());
    Array<int> arrived = zeros<int>(compute, 1), met = zeros<int>(compute, 1),
               x = zeros<int>(compute, 1000), y = full<int>(compute, 1000, 4);
    Array<int> in = pinned<int>(1000), out = pinned<int>(1000);
    std::fill(in.data(), in.data() + 1000, 3);
    compute.synchronize();
    // This kernel runs until another one arrives.
    launch(compute, meet, grid(1, 1), arrived, 2, met, 0, limit_ns());
    copy(up, x, in);
    copy(down, out, y);
    up.synchronize();  // if copies waited for kernels, this would return only at the time limit
    down.synchronize();
    const bool kernel_still_there = !compute.is_complete();
    fill(up, arrived, 2);
    CHECK(to_host(compute, met)[0] == 1);
    CHECK(kernel_still_there);
    CHECK(out[999] == 4);
    CHECK(to_host(up, x)[999] == 3);
}

CUDA_TEST_CASE("freeing and taking pinned memory does not wait for a busy GPU") {
    const check::ScopedOff races;  // these kernels share flags on purpose
    const Drained drained;
    const Stream compute(gpu()), other(gpu());
    Array<int> arrived = zeros<int>(compute, 1), met = zeros<int>(compute, 1);
    { const Array<int> warm = pinned<int>(100'000); }
    compute.synchronize();
    launch(compute, meet, grid(1, 1), arrived, 2, met, 0, limit_ns());
    for (int i = 0; i < 10; ++i) {
        const Array<int> staging = pinned<int>(100'000);
    }
    const bool kernel_still_there = !compute.is_complete();
    fill(other, arrived, 2);
    CHECK(to_host(compute, met)[0] == 1);  // no timeout: no work above has waited for the kernel
    CHECK(kernel_still_there);
}

CUDA_TEST_CASE("destroying streams, events and arrays does not wait for a busy GPU") {
    const check::ScopedOff races;  // these kernels share flags on purpose
    const Drained drained;
    const Stream compute(gpu()), other(gpu());
    Array<int> arrived = zeros<int>(compute, 1), met = zeros<int>(compute, 1);
    compute.synchronize();
    launch(compute, meet, grid(1, 1), arrived, 2, met, 0, limit_ns());
    {
        const Stream waits(gpu());
        waits.wait_stream(compute);
        Array<int> x = zeros<int>(waits, 1000);
        const Event event = waits.record_event();
        launch_host(waits, [] {});
    }
    const bool kernel_still_there = !compute.is_complete();
    fill(other, arrived, 2);
    CHECK(to_host(compute, met)[0] == 1);
    CHECK(kernel_still_there);
}
