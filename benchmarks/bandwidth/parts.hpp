// bench_bandwidth: heddle's peers. On CUDA devices raw CUDA (cuda.cu), on CPU devices
// plain memcpy and threads (cpu.cpp).
#pragma once

#include <cstddef>
#include <vector>

#include <heddle/device/device.hpp>

#include "measure.hpp"

namespace bench {

enum class Direction { to_device, to_host, on_device };

/// One call: `bytes` copied. All calls of a batch are on one stream and waited for. `name` is that
/// of the host memory.
Peer raw_copy(heddle::Device device, void* to, const void* from, std::size_t bytes,
              Direction direction, const char* name);
/// One call: `bytes` each way, on two streams, waited for.
Peer raw_copy_both(heddle::Device device, float* on_device, float* to_host, const float* from_host,
                   std::size_t bytes);
/// One call: z = x + 3 y over `count` floats, waited for.
Peer raw_triad(heddle::Device device, std::size_t count, const float* x, const float* y, float* z);

/// A copy between devices of one kind, as their indices.
struct Transfer {
    int from_device, to_device;
    void* to;
    const void* from;
};
/// One call: every transfer, `bytes` each, all at the same time, on streams of the source devices.
/// All calls of a batch are waited for. Uses memory of its own, from cudaMalloc;
/// `access`: with peer access both ways, if available.
Peer raw_transfers(const std::vector<Transfer>& transfers, std::size_t bytes, bool access);
/// One call: every transfer, by memcpy; a thread for each processor copies its share of
/// each.
Peer plain_transfers(const std::vector<Transfer>& transfers, std::size_t bytes);

/// One call: a memcpy by the caller.
Peer plain_copy(void* to, const void* from, std::size_t bytes);
/// One call: as raw_triad, by one thread for each processor, each with its share; the threads exist
/// before.
Peer plain_triad(std::size_t count, const float* x, const float* y, float* z);

}  // namespace bench
