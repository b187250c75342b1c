// Memory of the CUDA runtime as arrays, and host memory that is pinned in place.
#include "../kernels.hpp"
#include "../support.hpp"

#include <heddle/by_data.hpp>
#include <heddle/cuda.hpp>

#include <algorithm>
#include <atomic>
#include <span>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using namespace heddle_test;

namespace {

constexpr std::size_t n = 1000;

Device gpu() { return Device("cuda:0"); }

int* allocated() {
    int* data = nullptr;
    check_cuda(cudaMalloc(&data, n * sizeof(int)), "cudaMalloc");
    return data;
}

/// Returns whether CUDA knows the host memory as pinned.
bool is_pinned(const void* data) {
    unsigned flags = 0;
    const cudaError_t code = cudaHostGetFlags(&flags, const_cast<void*>(data));
    cudaGetLastError();
    return code == cudaSuccess;
}

}  // namespace

CUDA_TEST_CASE("memory of cudaMalloc() is freed after the work of two streams") {
    const Stream a(gpu()), b(gpu());
    Array<int> seen = ready_zeros<int>(b, n);
    std::atomic<int> freed{0};
    bool was_idle = false;
    DrainedGate gate;
    {
        Array<int> x = adopt(gpu(), allocated(), n, [&](int* data) {
            was_idle = a.is_complete() && b.is_complete();
            freed += cudaFree(data) == cudaSuccess;
        });
        gate.hold(a);
        fill(a, x, 4);
        launch(a, Add{}, dim(n), x, 1);
        b.wait_stream(a);
        launch(b, CopyKernel{}, dim(n), x, seen);
    }
    CHECK(freed == 0);
    gate.open();
    finish_adopted();
    CHECK(freed == 1);
    CHECK(was_idle);
    CHECK(to_host(b, seen) == Ints(n, 5));
}

CUDA_TEST_CASE("memory of a pool is freed in stream order, by the stream that its end receives") {
    const Stream s(gpu());
    int* data = nullptr;
    with_native(s, [&](cudaStream_t native) {
        return cudaMallocAsync(reinterpret_cast<void**>(&data), n * sizeof(int), native);
    });
    s.synchronize();
    Array<int> seen = zeros<int>(s, n);
    DrainedGate gate;
    bool is_called = false;
    {
        Array<int> x = adopt(gpu(), data, n, [&](int* p, StreamRef after) {
            is_called = true;
            with_native(after, [&](cudaStream_t native) { return cudaFreeAsync(p, native); });
        });
        gate.hold(s);
        fill(s, x, 7);
        copy(s, seen, x);
    }
    CHECK(is_called);  // the gate is still closed
    gate.open();
    CHECK(to_host(s, seen) == Ints(n, 7));
}

CUDA_TEST_CASE("adopted memory in a graph, a batch and by data") {
    const Stream s(gpu());
    std::atomic<int> freed{0};
    {
        Array<int> x = adopt(gpu(), allocated(), n,
                             [&](int* data) { freed += cudaFree(data) == cudaSuccess; });
        fill(s, x, 1);
        Graph graph = capture(s, [&] { launch(s, Add{}, dim(n), x, 1); });
        graph.launch(s);
        Batch step;
        {
            const ScopedBatch batch(step, s);
            launch(s, Add{}, dim(n), x, 1);
            launch(s, Multiply{}, dim(n), x, 2);
        }
        CHECK(to_host(s, x) == Ints(n, 6));
        DataOrder order;
        launch(order, Add{}, dim(n), x, 1);
        CHECK(to_host(order, x) == Ints(n, 7));
    }
    finish_adopted();
    CHECK(freed == 1);
}

CUDA_TEST_CASE("memory of cudaMalloc() that is freed during a capture is freed, and not captured") {
    const Stream s(gpu());
    Array<int> other = zeros<int>(s, n);
    std::atomic<int> freed{0};
    const auto end = [&](int* data) { freed += cudaFree(data) == cudaSuccess; };
    const auto end_on_stream = [&](int* data, StreamRef after) {
        after.synchronize();
        end(data);
    };
    ScopedCapture capture(s);
    {
        Array<int> x = adopt(gpu(), allocated(), n, end);
        Array<int> y = adopt(gpu(), allocated(), n, end_on_stream);
        launch(s, Add{}, dim(n), x, 1);
        launch(s, Add{}, dim(n), y, 1);
    }
    launch(s, Add{}, dim(n), other, 1);
    finish_adopted();
    CHECK(freed == 2);
    (void)capture.end();
}

CUDA_TEST_CASE("memory of cudaMalloc() is freed after failed and dropped work, too") {
    Stream s(gpu());
    std::atomic<int> freed{0};
    const auto end = [&](int* data) { freed += cudaFree(data) == cudaSuccess; };
    {
        Array<int> x = adopt(gpu(), allocated(), n, end);
        launch_host(s, [] { throw Boom("failed"); }, writes(x));
    }
    finish_adopted();
    CHECK(freed == 1);
    CHECK_THROWS_AS(s.synchronize(), Error);
    {
        Array<int> x = adopt(gpu(), allocated(), n, end);
        launch(s, Add{}, dim(n), x, 1);  // this work is dropped
    }
    finish_adopted();
    CHECK(freed == 2);
    (void)s.clear_error();
}

CUDA_TEST_CASE("an end on a GPU that throws is reported, and the others are called") {
    const Stream s(gpu());
    int* const kept = allocated();
    std::atomic<int> freed{0};
    const Reports reports;
    {
        Array<int> x = adopt(gpu(), kept, n, [](int*) { throw Boom("end"); });
        Array<int> y = adopt(gpu(), allocated(), n,
                             [&](int* data) { freed += cudaFree(data) == cudaSuccess; });
        launch(s, Add{}, dim(n), x, 1);
        launch(s, Add{}, dim(n), y, 1);
    }
    finish_adopted();
    CHECK(freed == 1);
    CHECK(reports.count() == 1);
    check_cuda(cudaFree(kept), "cudaFree");
}

CUDA_TEST_CASE("registered memory is pinned until the device has completed its copies") {
    const Stream s(gpu());
    alignas(4096) static int values[n], results[n];  // each on its own pages
    std::ranges::fill(values, 3);
    Array<int> x = ready_zeros<int>(s, n);
    std::atomic<bool> has_ended{false};
    const Drained drained;
    Loan loan;
    Gate gate;
    const Array<int> from = loan.register_host(values);
    Array<int> to = loan.register_host(results);
    CHECK(from.kind() == MemoryKind::pinned);
    CHECK(is_pinned(values));
    gate.hold(s);
    copy(s, x, from);
    launch(s, Add{}, dim(n), x, 1);
    copy(s, to, x);
    std::thread ending([&] {
        loan.end();
        has_ended = true;
    });
    CHECK_FALSE(has_ended);
    gate.open();
    ending.join();
    CHECK(std::ranges::all_of(results, [](int one) { return one == 4; }));
    CHECK_FALSE(is_pinned(values));
}

CUDA_TEST_CASE("two arrays in one page are registered once") {
    const Stream s(gpu());
    alignas(4096) static int page[1024];
    Loan loan;
    Array<int> first = loan.register_host(std::span(page, 100));
    Array<int> second = loan.register_host(std::span(page + 500, 100));
    fill(s, first, 1);
    fill(s, second, 2);
    s.synchronize();
    CHECK(page[99] == 1);
    CHECK(page[500] == 2);
    loan.end();
    CHECK_FALSE(is_pinned(page));
}

CUDA_TEST_CASE("memory that CUDA cannot pin is refused and stays usable") {
    const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    Loan loan;
    CHECK(error_of([&] {
              (void)loan.register_host(std::span(static_cast<int*>(mapped), 16));
          })->code() == ErrorCode::usage);
    CHECK(cudaPeekAtLastError() == cudaSuccess);
    CHECK(static_cast<int*>(mapped)[15] == 0);
    munmap(mapped, bytes);
}
