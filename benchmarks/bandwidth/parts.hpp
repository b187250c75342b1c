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
/// `name` is the name for the host memory.
Peer raw_copy(heddle::Device device, void* to, const void* from, std::size_t bytes,
              Direction direction, const char* name);
/// One call copies `bytes` bytes each way, on two streams; then the host waits.
Peer raw_copy_both(heddle::Device device, float* on_device, float* to_host, const float* from_host,
                   std::size_t bytes);
/// One call computes z = x + 3 y for `count` floats; then the host waits.
Peer raw_triad(heddle::Device device, std::size_t count, const float* x, const float* y, float* z);

/// A copy between two devices of one kind. Has the devices' indices.
struct Transfer {
    int from_device, to_device;
    void* to;
    const void* from;
};
/// One call makes every transfer of `bytes` bytes, all at the same time, on streams of the source
/// devices. After a batch, the host waits. The memory is from cudaMalloc. If `access` is set,
/// enables peer access both ways where it is available.
Peer raw_transfers(const std::vector<Transfer>& transfers, std::size_t bytes, bool access);
/// One call makes every transfer by memcpy. There is a thread for each processor, which copies its
/// share of each transfer.
Peer plain_transfers(const std::vector<Transfer>& transfers, std::size_t bytes);

/// One call is a memcpy by the calling thread.
Peer plain_copy(void* to, const void* from, std::size_t bytes);
/// One call does the same as raw_triad(). There is one thread for each processor, which computes
/// its share. The threads exist before the call.
Peer plain_triad(std::size_t count, const float* x, const float* y, float* z);

}  // namespace bench
