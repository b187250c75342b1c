// bench_bandwidth: the same work by raw CUDA calls.
#include <memory>
#include <string>
#include <vector>

#include "bandwidth/parts.hpp"
#include "raw_cuda.cuh"

namespace bench {

namespace {

__global__ void __launch_bounds__(256)
    triad(std::size_t count, const float* x, const float* y, float* z) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) z[i] = x[i] + 3.0f * y[i];
}

/// Memory on both devices of a transfer, and a stream of the first device.
struct RawLink {
    int from_device, to_device;
    void *from = nullptr, *to = nullptr;
    cudaStream_t stream = nullptr;

    RawLink(const Transfer& transfer, std::size_t bytes)
        : from_device(transfer.from_device), to_device(transfer.to_device) {
        ok(cudaSetDevice(to_device));
        ok(cudaMalloc(&to, bytes));
        ok(cudaMemset(to, 0, bytes));
        ok(cudaDeviceSynchronize());
        ok(cudaSetDevice(from_device));
        ok(cudaMalloc(&from, bytes));
        ok(cudaMemset(from, 0, bytes));
        ok(cudaDeviceSynchronize());
        ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    RawLink(const RawLink&) = delete;
    RawLink& operator=(const RawLink&) = delete;
    ~RawLink() {
        cudaStreamDestroy(stream);
        cudaFree(from);
        cudaFree(to);
    }
};

std::shared_ptr<Raw> raw_on(heddle::Device device) {
    ok(cudaSetDevice(device.index()));
    return std::make_shared<Raw>();
}

}  // namespace

Peer raw_copy(heddle::Device device, void* to, const void* from, std::size_t bytes,
              Direction direction, const char* name) {
    const auto raw = raw_on(device);
    const cudaMemcpyKind kind = direction == Direction::to_device ? cudaMemcpyHostToDevice
                                : direction == Direction::to_host ? cudaMemcpyDeviceToHost
                                                                  : cudaMemcpyDeviceToDevice;
    return {std::string("cudaMemcpyAsync, ") + name, {[=](int calls) {
                for (int i = 0; i < calls; ++i) ok(cudaMemcpyAsync(to, from, bytes, kind, raw->a));
                ok(cudaStreamSynchronize(raw->a));
            }}};
}

Peer raw_copy_both(heddle::Device device, float* on_device, float* to_host, const float* from_host,
                   std::size_t bytes) {
    const auto raw = raw_on(device);
    const float* const second = on_device + bytes / sizeof(float);
    return {
        "cudaMemcpyAsync on two streams", {[=](int calls) {
            for (int i = 0; i < calls; ++i) {
                ok(cudaMemcpyAsync(on_device, from_host, bytes, cudaMemcpyHostToDevice, raw->a));
                ok(cudaMemcpyAsync(to_host, second, bytes, cudaMemcpyDeviceToHost, raw->b));
            }
            ok(cudaStreamSynchronize(raw->a));
            ok(cudaStreamSynchronize(raw->b));
        }}};
}

Peer raw_triad(heddle::Device device, std::size_t count, const float* x, const float* y, float* z) {
    const auto raw = raw_on(device);
    return {"<<<>>> of an equal kernel", {[=](int calls) {
                for (int i = 0; i < calls; ++i) {
                    triad<<<static_cast<unsigned>((count + 255) / 256), 256, 0, raw->a>>>(count, x,
                                                                                          y, z);
                    ok(cudaGetLastError());
                }
                ok(cudaStreamSynchronize(raw->a));
            }}};
}

Peer raw_transfers(const std::vector<Transfer>& transfers, std::size_t bytes, bool access) {
    bool reached = access;
    const auto links = std::make_shared<std::vector<std::unique_ptr<RawLink>>>();
    for (const Transfer& transfer : transfers) {
        links->push_back(
            std::make_unique<RawLink>(transfer, bytes));  // the source's device is current now
        if (!access) continue;
        reached = enable_access(transfer.from_device, transfer.to_device) && reached;
        ok(cudaSetDevice(transfer.to_device));
        reached = enable_access(transfer.to_device, transfer.from_device) && reached;
    }
    ok(cudaSetDevice(transfers.front().from_device));
    return {reached ? "cudaMemcpyPeerAsync, peer access enabled"
                    : "cudaMemcpyPeerAsync, no peer access",
            {[=](int calls) {
                for (int i = 0; i < calls; ++i)
                    for (const auto& link : *links)
                        ok(cudaMemcpyPeerAsync(link->to, link->to_device, link->from,
                                               link->from_device, bytes, link->stream));
                for (const auto& link : *links) ok(cudaStreamSynchronize(link->stream));
            }}};
}

}  // namespace bench
