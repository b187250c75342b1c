// A CPU device and a GPU: their streams wait for each other, and the calling thread is not blocked.
#include "kernel_launches.hpp"
#include "support.hpp"

#include <algorithm>

using namespace heddle_test;

CUDA_TEST_CASE("a CUDA stream waits on a CPU stream", "[cross]") {
    const OrderLog seen;
    const Drained drained;
    const Flag release;
    const Stream cpu(cpu_device()), cuda(Device("cuda:0"));
    Array<int> x = zeros<int>(cuda, 100);
    Array<int> staging = pinned<int>(100);
    std::fill(staging.data(), staging.data() + 100, 0);
    cuda.synchronize();
    launch_host(cpu, [&, release] {
        release.wait();
        std::fill(staging.data(), staging.data() + 100, 5);
    });
    cuda.wait_stream(cpu);
    copy(cuda, x, staging);  // returns immediately
    CHECK_FALSE(cuda.is_complete());
    release.set();
    CHECK(to_host(cuda, x) == std::vector<int>(100, 5));
}

CUDA_TEST_CASE("a CPU stream waits on a CUDA stream", "[cross]") {
    DrainedGate gate;
    const Stream cpu(cpu_device()), cuda(Device("cuda:0"));
    Array<int> x = zeros<int>(cuda, 100), staging = pinned<int>(100);
    std::fill(staging.data(), staging.data() + 100, 0);
    cuda.synchronize();
    int seen = 0;
    gate.hold(cuda);
    launch(cuda, Set{}, dim(100), x, 5);
    copy(cuda, staging, x);
    cpu.wait_stream(cuda);
    launch_host(cpu, [&] { seen = staging[99]; });
    CHECK_FALSE(cpu.is_complete());
    gate.open();
    cpu.synchronize();
    CHECK(seen == 5);
}

CUDA_TEST_CASE("events of each kind of device are waited on from the other", "[cross]") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream cpu(cpu_device()), cuda(Device("cuda:0")), last(cpu_device());
    gate.hold(cpu);
    seen.note(cpu, "cpu");
    const Event first = cpu.record_event();
    cuda.wait_event(first);
    seen.note(cuda, "cuda");
    const Event second = cuda.record_event();
    last.wait_event(second);
    seen.note(last, "last");
    finish_work(cpu_device());
    CHECK(seen.seen().empty());
    check_opened(seen, gate, last, {"cpu", "cuda", "last"});
}

CUDA_TEST_CASE("work goes back and forth between the kinds in order", "[cross]") {
    const OrderLog seen;
    const Drained drained;
    const Stream cpu(cpu_device()), cuda(Device("cuda:0"));
    Strings expected;
    for (int i = 0; i < 100; ++i) {
        const Stream& now = i % 2 == 0 ? cpu : cuda;
        now.wait_stream(i % 2 == 0 ? cuda : cpu);
        expected.push_back(std::to_string(i));
        seen.note(now, expected.back());
    }
    synchronize();
    CHECK(seen.seen() == expected);
}

CUDA_TEST_CASE("a redundant wait across kinds is elided", "[cross]") {
    const Stream cpu(cpu_device()), cuda(Device("cuda:0"));
    launch_host(cpu, [] {});
    cuda.wait_stream(cpu);
    const OpCounter counted;
    cuda.wait_stream(cpu);
    CHECK(counted.stats().waits_elided == 1);
    CHECK(counted.stats().waits_inserted == 0);
}

CUDA_TEST_CASE("a failure crosses between the kinds", "[cross]") {
    const Stream cpu(cpu_device()), cuda(Device("cuda:0")), back(cpu_device());
    launch_host(cpu, [] { throw Boom("on the CPU"); });
    cuda.wait_stream(cpu);
    launch_host(cuda, [] {});
    CHECK(cause_of(*error_of([&] { cuda.synchronize(); })) == "on the CPU");
    back.wait_stream(cuda);
    launch_host(back, [] {});
    CHECK(cause_of(*error_of([&] { back.synchronize(); })) == "on the CPU");

    const Stream failing(Device("cuda:0")), other(cpu_device());
    launch_host(failing, [] { throw Boom("beside the GPU"); });
    other.wait_stream(failing);
    launch_host(other, [] {});
    CHECK(cause_of(*error_of([&] { other.synchronize(); })) == "beside the GPU");
}

CUDA_TEST_CASE("a CUDA stream that waits for a CPU stream holds up no other CUDA stream",
               "[cross]") {
    DrainedGate gate;
    const Stream cpu(cpu_device());
    gate.hold(cpu);
    launch_host(cpu, [] {});
    std::vector<Stream> held;
    for (int i = 0; i < 6; ++i) {
        held.emplace_back(Device("cuda:0"));
        held.back().wait_stream(cpu);
        launch_host(held.back(), [] {});
    }
    const Stream free(Device("cuda:0"));
    Array<int> x = zeros<int>(free, 100);
    launch(free, Set{}, dim(100), x, 3);
    std::atomic<bool> ran{false};
    launch_host(free, [&] { ran = true; });
    CHECK(to_host(free, x)[99] == 3);
    CHECK(ran);
}

CUDA_TEST_CASE("a CUDA stream may be destroyed while it waits for a CPU stream, and the reverse",
               "[cross]") {
    const Drained drained;
    std::atomic<int> ran{0};
    Gate gate;
    {
        const Stream cpu(cpu_device()), cuda(Device("cuda:0")), last(cpu_device());
        gate.hold(cpu);
        launch_host(cpu, [&] { ++ran; });
        cuda.wait_stream(cpu);
        launch_host(cuda, [&] { ++ran; });
        last.wait_stream(cuda);
        launch_host(last, [&] { ++ran; });
    }
    gate.open();
    CHECK(eventually([&] { return ran == 3; }));
}

CUDA_TEST_CASE("memory out of a kernel's reach is refused before the launch", "[cross]") {
    const Stream cpu(cpu_device()), cuda(Device("cuda:0"));
    Array<int> here = zeros<int>(cpu, 10), there = zeros<int>(cuda, 10), plain = pageable<int>(10);
    CHECK_THROWS_AS(launch(cpu, Iota{}, dim(10), there), UsageError);
    CHECK_THROWS_AS(launch(cuda, Iota{}, dim(10), here), UsageError);
    CHECK_THROWS_AS(launch(cuda, Iota{}, dim(10), plain), UsageError);
    const Error error = thrown_by([&] { launch(cuda, Iota{}, dim(10), here); });
    CHECK_THAT(error.what(), contains("cpu:0"));
    CHECK_THAT(error.what(), contains("cuda:0"));
    Array<int> locked = pinned<int>(10);
    launch(cuda, Iota{}, dim(10), locked);  // both devices can access pinned memory
    cuda.synchronize();
    CHECK(locked[9] == 9);
    launch(cpu, Add{}, dim(10), locked, 1);
    cpu.synchronize();
    CHECK(locked[9] == 10);
    CHECK_FALSE(cuda.is_poisoned());
}

CUDA_TEST_CASE("arrays are copied between a CPU device and a GPU", "[cross]") {
    const Stream cpu(cpu_device()), cuda(Device("cuda:0"));
    const std::size_t n = GENERATE(10u, 3'000'000u);
    const ScopedStream in_cpu{cpu}, in_cuda{cuda};
    Array<int> here = empty<int>(cpu, n), there = empty<int>(cuda, n), back = zeros<int>(cpu, n);
    launch(cpu, Iota{}, dim(n), here);
    copy(there, here);  // follows the CPU stream's work
    launch(cuda, Add{}, dim(n), there, 1);
    copy(back, there);
    const std::vector<int> result = to_host(cpu, back);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong += result[i] != static_cast<int>(i) + 1;
    CHECK(wrong == 0);
}
