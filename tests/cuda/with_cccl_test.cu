// CCCL's references to heddle's streams and events, and its containers' memory, on a GPU.
// tests/with has programs that compile with every CCCL.
#include <algorithm>
#include <cuda/version>
#if CCCL_VERSION < 3001000
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#endif
#include <heddle/with/cccl.hpp>

#include "../support.hpp"

using namespace heddle_test;

namespace {

Device gpu() { return Device("cuda:0"); }
constexpr std::size_t n = 1000;
constexpr std::size_t bytes = n * sizeof(int);

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }

/// A native stream that other code has made.
struct Theirs {
    cudaStream_t handle = nullptr;
    Theirs() {
        check_cuda(cudaSetDevice(0), "cudaSetDevice");
        check_cuda(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking),
                   "cudaStreamCreateWithFlags");
    }
    ~Theirs() { cudaStreamDestroy(handle); }
    Theirs(const Theirs&) = delete;
};

void add_to_all(cuda::stream_ref stream, int* data, int value) {
    add<<<1, n, 0, stream.get()>>>(data, value);
    check_cuda(cudaGetLastError(), "add");
}

}  // namespace

CUDA_TEST_CASE("a kernel launched on a stream's cuda::stream_ref runs in the stream's order") {
    const Stream s(gpu()), next(gpu());
    Array<int> x = full<int>(s, n, 1);
    add_to_all(s, x.data(), 2);
    launch(s, add, grid(1, n), x, 3);
    next.wait_stream(s);
    CHECK(to_host(next, x) == Ints(n, 6));
}

CUDA_TEST_CASE("a wait for a stream whose cuda::stream_ref is kept is never elided") {
    const Stream a(gpu()), b(gpu());
    launch_host(b, [] {});
    const cuda::stream_ref kept = b;
    const OpCounter counted;
    a.wait_stream(b);
    a.wait_stream(b);
    CHECK(counted.stats().waits_elided == 0);
    CHECK(wrap_stream(kept) == b);
}

#if CCCL_VERSION >= 3001000
CUDA_TEST_CASE("an event is waited for and synchronised through its cuda::event_ref") {
    const Drained drained;
    const Theirs theirs;
    const Stream s(gpu());
    Array<int> x = ready_full<int>(s, n, 1);
    Gate gate(s);
    fill(s, x, 5);
    const Event filled = s.record_event();
    const cuda::event_ref point = filled;
    CHECK_FALSE(point.is_done());
    const cuda::stream_ref after(theirs.handle);
    after.wait(point);
    add_to_all(after, x.data(), 2);
    gate.open();
    after.sync();
    CHECK(point.is_done());
    x.used_on(wrap_stream(after));
    CHECK(to_host(s, x) == Ints(n, 7));
}

CUDA_TEST_CASE("an event that others recorded is waited for") {
    const Theirs theirs;
    const Stream s(gpu());
    Array<int> x = ready_full<int>(s, n, 1);
    const cuda::stream_ref before(theirs.handle);
    add_to_all(before, x.data(), 2);
    const cuda::event theirs_done(before);
    const Event done = wrap_event(theirs_done, gpu());
    s.wait_event(done);
    CHECK(to_host(s, x) == Ints(n, 3));
}
#endif

CUDA_TEST_CASE("a resource's memory is used and freed in the order of two streams") {
    const Drained drained;
    MemoryResource memory(gpu());
    const Stream a(gpu()), b(gpu());
    auto* const data = static_cast<int*>(memory.allocate_async(bytes, 256, a));
    check_cuda(cudaMemsetAsync(data, 0, bytes, native_handle(a)), "cudaMemsetAsync");
    b.wait_stream(a);
    Array<int> x(b, n);
    b.synchronize();
    Gate gate(b);
    add_to_all(b, data, 4);
    copy(b, x, View<const int>(data, n));
    memory.deallocate_async(data, bytes, 256, b);
    // The kernel has not run yet, so no other stream may receive the memory.
    std::vector<void*> others;
    for (int i = 0; i < 4; ++i) others.push_back(memory.allocate_async(bytes, 256, a));
    CHECK(std::ranges::count(others, static_cast<void*>(data)) == 0);
    for (void* const one : others) {
        check_cuda(cudaMemsetAsync(one, 0x7f, bytes, native_handle(a)), "cudaMemsetAsync");
        memory.deallocate_async(one, bytes, 256, a);
    }
    a.synchronize();
    gate.open();
    CHECK(to_host(b, x) == Ints(n, 4));
}

CUDA_TEST_CASE("a resource serves streams that heddle does not know") {
    const Theirs theirs, others;
    MemoryResource memory(gpu());
    const cuda::stream_ref a(theirs.handle), b(others.handle);
    Ints back(n);
    for (int i = 0; i < 100; ++i) {
        auto* const data = static_cast<int*>(memory.allocate_async(bytes, 256, a));
        check_cuda(cudaMemsetAsync(data, 0, bytes, a.get()), "cudaMemsetAsync");
        add_to_all(a, data, i);
        cudaEvent_t made = nullptr;
        check_cuda(cudaEventCreate(&made), "cudaEventCreate");
        check_cuda(cudaEventRecord(made, a.get()), "cudaEventRecord");
        check_cuda(cudaStreamWaitEvent(b.get(), made), "cudaStreamWaitEvent");
        cudaEventDestroy(made);
        check_cuda(cudaMemcpyAsync(back.data(), data, bytes, cudaMemcpyDeviceToHost, b.get()),
                   "copy");
        memory.deallocate_async(data, bytes, 256, b);
        check_cuda(cudaStreamSynchronize(b.get()), "cudaStreamSynchronize");
        REQUIRE(back == Ints(n, i));
    }
}

CUDA_TEST_CASE("a resource's memory for all is ready when the call returns") {
    MemoryResource memory(gpu());
    void* const data = memory.allocate_sync(bytes);
    check_cuda(cudaMemset(data, 0x11, bytes), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    memory.deallocate_sync(data, bytes);
}

TEST_CASE("a resource refuses streams of another GPU", "[cuda][multi]") {
    if (device_count(DeviceKind::cuda) < 2) HEDDLE_SKIP("there are fewer than two GPUs");
    MemoryResource memory(gpu());
    const Stream other(Device("cuda:1"));
    const Error error = thrown_by([&] { (void)memory.allocate_async(bytes, 256, other); });
    CHECK(error.code() == ErrorCode::usage);
}
