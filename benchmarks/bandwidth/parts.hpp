// bench_bandwidth: implementations without heddle, for comparison: raw CUDA calls on CUDA devices
// (cuda.cu), and plain memcpy and threads on CPU devices (cpu.cpp).
#pragma once

#include <cstddef>
#include <vector>

#include <heddle/device/device.hpp>

#include "measure.hpp"

namespace bench {

enum class Direction { to_device, to_host, on_device };

/// One call copies `bytes` bytes. All calls of a batch are on one stream; then the host waits.
/// `name` is the text for the kind of host memory.
Peer raw_copy(heddle::Device device, void* to, const void* from, std::size_t bytes,
              Direction direction, const char* name);
/// One call copies `bytes` bytes in each direction, on two streams; then the host waits.
Peer raw_copy_both(heddle::Device device, float* on_device, float* to_host, const float* from_host,
                   std::size_t bytes);
/// One call computes z = x + 3 y for `count` floats; then the host waits.
Peer raw_triad(heddle::Device device, std::size_t count, const float* x, const float* y, float* z);

/// A copy between two devices of one kind, which are stored as indices.
struct Transfer {
    int from_device, to_device;
    void* to;
    const void* from;
};
/// One call makes all transfers at the same time, `bytes` bytes each, on streams of the source
/// devices. After a batch, the host waits. The memory is from cudaMalloc. If `access` is set,
/// enables peer access in both directions where it is available.
Peer raw_transfers(const std::vector<Transfer>& transfers, std::size_t bytes, bool access);
/// One call makes all transfers by memcpy, on one thread for each processor. Each thread copies its
/// share of each transfer.
Peer plain_transfers(const std::vector<Transfer>& transfers, std::size_t bytes);

/// One call is a memcpy by the calling thread.
Peer plain_copy(void* to, const void* from, std::size_t bytes);
/// One call computes the same as one of raw_triad(), on one thread for each processor. The threads
/// already exist before the call.
Peer plain_triad(std::size_t count, const float* x, const float* y, float* z);

}  // namespace bench
