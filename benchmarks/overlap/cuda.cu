// bench_overlap on CUDA devices: pipelines written by hand.
#include <algorithm>
#include <memory>
#include <vector>

#include "overlap/parts.hpp"
#include "raw_cuda.cuh"
#include "spin.hpp"

namespace bench {

namespace {

__global__ void spin_kernel(std::uint64_t ns) { spin_for(ns); }

/// Buffers and events for each piece in flight. Uses the streams of Raw: `a` copies in, `b` does
/// the work, and `c` copies out.
struct Ring {
    Raw streams;
    std::size_t bytes, depth;
    char *in = nullptr, *out = nullptr;              // device memory
    char *pinned_in = nullptr, *host_out = nullptr;  // pinned memory
    std::vector<char> pageable;
    std::vector<cudaEvent_t> arrived, worked, left;

    Ring(std::size_t piece, std::size_t count, bool is_pinned)
        : bytes(piece), depth(count), pageable(is_pinned ? 0 : piece * count, 1), arrived(count),
          worked(count), left(count) {
        ok(cudaMalloc(&in, bytes * depth));
        ok(cudaMalloc(&out, bytes * depth));
        ok(cudaMemset(out, 0, bytes * depth));
        ok(cudaDeviceSynchronize());
        if (is_pinned) {
            ok(cudaMallocHost(&pinned_in, bytes * depth));
            std::fill_n(pinned_in, bytes * depth, 1);
        }
        ok(cudaMallocHost(&host_out, bytes * depth));
        std::fill_n(host_out, bytes * depth, 1);
        for (std::vector<cudaEvent_t>* events : {&arrived, &worked, &left})
            for (cudaEvent_t& event : *events)
                ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring() {
        for (const std::vector<cudaEvent_t>* events : {&arrived, &worked, &left})
            for (const cudaEvent_t event : *events) cudaEventDestroy(event);
        cudaFreeHost(host_out);
        if (pinned_in != nullptr) cudaFreeHost(pinned_in);
        cudaFree(out);
        cudaFree(in);
    }

    const char* source(std::size_t slot) const {
        return (pinned_in != nullptr ? pinned_in : pageable.data()) + slot * bytes;
    }
    void copy_in(std::size_t slot) {
        ok(cudaMemcpyAsync(in + slot * bytes, source(slot), bytes, cudaMemcpyHostToDevice,
                           streams.a));
    }
};

}  // namespace

Peer raw_overlap(heddle::Device device, const StageSizes& sizes, bool is_pinned) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto ring = std::make_shared<Ring>(sizes.bytes, sizes.depth, is_pinned);
    const std::uint64_t ns = sizes.work_ns;
    return {is_pinned ? "three streams and events by hand, pinned memory"
                      : "three streams and events by hand, pageable memory to cudaMemcpyAsync",
            {[=](int calls) {
                Ring& r = *ring;
                for (std::size_t i = 0; i < static_cast<std::size_t>(calls); ++i) {
                    const std::size_t slot = i % r.depth;
                    // Once the slot's last output has arrived, no work uses the slot's buffers.
                    if (i >= r.depth) ok(cudaEventSynchronize(r.left[slot]));
                    r.copy_in(slot);
                    ok(cudaEventRecord(r.arrived[slot], r.streams.a));
                    ok(cudaStreamWaitEvent(r.streams.b, r.arrived[slot], 0));
                    if (ns != 0) {
                        spin_kernel<<<1, 32, 0, r.streams.b>>>(ns);
                        ok(cudaGetLastError());
                    }
                    ok(cudaEventRecord(r.worked[slot], r.streams.b));
                    ok(cudaStreamWaitEvent(r.streams.c, r.worked[slot], 0));
                    ok(cudaMemcpyAsync(r.host_out + slot * r.bytes, r.out + slot * r.bytes, r.bytes,
                                       cudaMemcpyDeviceToHost, r.streams.c));
                    ok(cudaEventRecord(r.left[slot], r.streams.c));
                }
                ok(cudaStreamSynchronize(r.streams.c));
            }}};
}

Peer raw_input(heddle::Device device, std::size_t bytes, std::size_t depth, bool is_pinned) {
    if (!device.is_cuda()) return {};
    ok(cudaSetDevice(device.index()));
    const auto ring = std::make_shared<Ring>(bytes, depth, is_pinned);
    return {is_pinned ? "cudaMemcpyAsync, pinned" : "cudaMemcpyAsync, pageable", {[=](int calls) {
                for (std::size_t i = 0; i < static_cast<std::size_t>(calls); ++i)
                    ring->copy_in(i % ring->depth);
                ok(cudaStreamSynchronize(ring->streams.a));
            }}};
}

}  // namespace bench
