// bench_bandwidth: what stands beside heddle. On CUDA devices raw CUDA (cuda.cu), on CPU devices plain
// memcpy and threads (cpu.cpp).
#pragma once

#include <cstddef>

#include <heddle/device.hpp>

#include "measure.hpp"

namespace bench {

enum class Direction { to_device, to_host, on_device };

/// One call: `bytes` copied; all calls of a batch in one stream, run to the end. `name` is said of the host
/// memory.
Peer raw_copy(heddle::Device device, void* to, const void* from, std::size_t bytes, Direction direction,
              const char* name);
/// One call: `bytes` each way, on two streams, run to the end.
Peer raw_copy_both(heddle::Device device, float* on_device, float* to_host, const float* from_host,
                   std::size_t bytes);
/// One call: z = x + 3 y over `count` floats, run to the end.
Peer raw_triad(heddle::Device device, std::size_t count, const float* x, const float* y, float* z);

/// One call: a memcpy by the caller.
Peer plain_copy(void* to, const void* from, std::size_t bytes);
/// One call: as raw_triad, by one thread for each processor, each with its share; the threads are made
/// before.
Peer plain_triad(std::size_t count, const float* x, const float* y, float* z);

}  // namespace bench
