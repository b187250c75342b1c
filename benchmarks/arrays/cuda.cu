// bench_arrays on CUDA devices: uses the driver's memory pool as a careful user does.
#include <cstdint>

#include "arrays/parts.hpp"
#include "arrays/replay.hpp"
#include "raw_cuda.cuh"

namespace bench {

namespace {

class CudaMemory {
public:
    using Buffer = void*;

    explicit CudaMemory(int device) : device_(device) {
        enter();
        cudaMemPoolProps properties{};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location.type = cudaMemLocationTypeDevice;
        properties.location.id = device;
        ok(cudaMemPoolCreate(&pool_, &properties));
        std::uint64_t all = UINT64_MAX;
        ok(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &all));
        for (cudaStream_t& one : streams_)
            ok(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
        ok(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    }
    CudaMemory(const CudaMemory&) = delete;
    CudaMemory& operator=(const CudaMemory&) = delete;

    void* make(std::size_t bytes, int stream) {
        void* data = nullptr;
        ok(cudaMallocFromPoolAsync(&data, bytes, pool_, of(stream)));
        return data;
    }
    void free(void*& buffer, int stream) { ok(cudaFreeAsync(buffer, of(stream))); }
    void use(void* buffer, int stream) { ok(cudaMemsetAsync(buffer, 1, 4096, of(stream))); }
    void wait(int waiter, int other) {
        ok(cudaEventRecord(event_, of(other)));
        ok(cudaStreamWaitEvent(of(waiter), event_, 0));
    }
    void enter() { ok(cudaSetDevice(device_)); }
    void finish() {
        enter();
        synchronize_raw_device();
    }
    void trim() { ok(cudaMemPoolTrimTo(pool_, 0)); }
    std::size_t high() {
        std::uint64_t bytes = 0, zero = 0;
        ok(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemHigh, &bytes));
        ok(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReservedMemHigh, &zero));
        return static_cast<std::size_t>(bytes);
    }

private:
    cudaStream_t of(int stream) { return streams_[static_cast<std::size_t>(stream)]; }
    int device_;
    cudaMemPool_t pool_ = nullptr;
    std::array<cudaStream_t, 8> streams_{};
    cudaEvent_t event_ = nullptr;
};

/// Never destroyed, because memory of the pools may be in use until the process ends.
std::shared_ptr<CudaMemory> memory_of(heddle::Device device) {
    static std::map<int, std::shared_ptr<CudaMemory>> all;
    auto& one = all[device.index()];
    if (one == nullptr) one = std::make_shared<CudaMemory>(device.index());
    return one;
}

}  // namespace

Peers cuda_pool(heddle::Device device) {
    const auto memory = memory_of(device);
    Peers peers = sides_of(memory, "cudaMallocFromPoolAsync, cudaFreeAsync");
    Peer& pressure = peers[row::pressure] = peers[row::training];
    pressure.side.finish = [memory] {
        memory->finish();
        memory->trim();
    };
    return peers;
}

std::size_t cuda_pool_high(heddle::Device device) { return memory_of(device)->high(); }

std::shared_ptr<void> leave_free(heddle::Device device, std::size_t bytes) {
    ok(cudaSetDevice(device.index()));
    std::size_t free = 0, total = 0;
    ok(cudaMemGetInfo(&free, &total));
    if (free <= bytes) return nullptr;
    void* ballast = nullptr;
    ok(cudaMalloc(&ballast, free - bytes));
    return {ballast, [](void* data) { cudaFree(data); }};
}

}  // namespace bench
