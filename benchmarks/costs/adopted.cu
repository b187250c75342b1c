// bench_costs on CUDA devices: arrays in memory of the CUDA runtime, compared with native calls.
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <heddle/cuda.hpp>
#include <heddle/heddle.hpp>

#include "costs/parts.hpp"
#include "raw_cuda.cuh"

using namespace heddle;

namespace bench {

namespace {

constexpr std::size_t floats = small_bytes / sizeof(float);
constexpr std::size_t registered_bytes = 1 << 20;

__global__ void touch(View<float> x) { x[threadIdx.x] = 1; }
__global__ void touch_by_hand(float* x) { x[threadIdx.x] = 1; }
void CUDART_CB end_by_hand(void*) {}

float* allocate_on(cudaStream_t stream) {
    float* data = nullptr;
    ok(cudaMallocAsync(&data, small_bytes, stream));
    return data;
}

/// Adds rows for memory of cudaMalloc() whose end function runs on the host: for memory that no
/// work uses, and for memory in use.
void add_host_end(Report& report, Device device, const std::shared_ptr<Raw>& raw,
                  const std::function<void()>& finish) {
    const Stream s{device};
    float* data = nullptr;
    ok(cudaMalloc(&data, small_bytes));
    const Batches batches{.calls = 50, .pairs = 2000, .seconds = 1.0};
    report.compare(row::adopt_unused, device.name(),
                   {repeat([&] { keep(adopt(device, data, floats, [](float*) {})); }), finish}, {},
                   batches);
    report.compare(row::adopt_host_end, device.name(),
                   {repeat([&] {
                        Array<float> x = adopt(device, data, floats, [](float*) {});
                        launch(s, touch, grid(1, 32), x);
                    }),
                    finish},
                   {"<<<>>>, cudaLaunchHostFunc",
                    {repeat([=] {
                         touch_by_hand<<<1, 32, 0, raw->a>>>(data);
                         ok(cudaGetLastError());
                         ok(cudaLaunchHostFunc(raw->a, end_by_hand, nullptr));
                     }),
                     finish}},
                   batches);
    finish();
    ok(cudaFree(data));
}

/// Adds rows for memory of a pool that is allocated, used and freed in stream order.
void add_stream_end(Report& report, Device device, const std::shared_ptr<Raw>& raw,
                    const std::function<void()>& finish) {
    // Keeps the pool from returning its memory at each wait, because later allocations would have
    // to map memory again.
    cudaMemPool_t pool = nullptr;
    std::uint64_t before = 0, most = ~std::uint64_t{0};
    ok(cudaDeviceGetDefaultMemPool(&pool, device.index()));
    ok(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &before));
    ok(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most));
    const Stream s{device};
    const auto by_heddle = [&] {
        Array<float> x =
            adopt(device, allocate_on(borrow(s)), floats,
                  [](float* data, StreamRef after) { ok(cudaFreeAsync(data, borrow(after))); });
        launch(s, touch, grid(1, 32), x);
    };
    const auto by_hand = [=] {
        float* const data = allocate_on(raw->a);
        touch_by_hand<<<1, 32, 0, raw->a>>>(data);
        ok(cudaGetLastError());
        ok(cudaEventRecord(raw->of_a, raw->a));
        ok(cudaStreamWaitEvent(raw->b, raw->of_a, 0));
        ok(cudaFreeAsync(data, raw->b));
    };
    report.compare(row::adopt_stream_end, device.name(), {repeat(by_heddle), finish},
                   {"cudaMallocAsync, <<<>>>, cudaEventRecord, cudaStreamWaitEvent, cudaFreeAsync",
                    {repeat(by_hand), finish}},
                   {.calls = 50, .pairs = 2000, .seconds = 1.0});
    ok(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &before));
}

void add_registered(Report& report, Device device, const std::function<void()>& finish) {
    std::vector<float> memory(registered_bytes / sizeof(float));
    report.compare("1 MB registered in place, and the loan's end", device.name(),
                   {repeat([&] {
                        Loan loan;
                        keep(loan.register_host(memory));
                    }),
                    finish},
                   {"cudaHostRegister, cudaHostUnregister",
                    {repeat([&] {
                         ok(cudaHostRegister(memory.data(), registered_bytes,
                                             cudaHostRegisterPortable | cudaHostRegisterMapped));
                         ok(cudaHostUnregister(memory.data()));
                     }),
                     finish}},
                   {.calls = 20, .pairs = 200, .seconds = 1.0});
}

}  // namespace

void add_adopted_cuda_rows(Report& report, Device device) {
    const auto raw = std::make_shared<Raw>();
    const std::function<void()> finish = [device] {
        finish_adopted();
        synchronize_device(device);
        ok(cudaSetDevice(device.index()));
        synchronize_raw_device();
    };
    add_host_end(report, device, raw, finish);
    add_stream_end(report, device, raw, finish);
    add_registered(report, device, finish);
}

}  // namespace bench
