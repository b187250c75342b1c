// bench_arrays: the interface between its parts.
#pragma once

#include <cstddef>
#include <memory>

#include <heddle/device/device.hpp>

#include "measure.hpp"

namespace bench {

/// Returns peers that call cudaMallocFromPoolAsync and cudaFreeAsync on a CUDA device, by row name.
/// The peers' pool caches freed memory.
Peers cuda_pool(heddle::Device device);
/// Returns the high-water mark of the peers' pool since the last call of this function, in bytes.
std::size_t cuda_pool_high(heddle::Device device);
/// Allocates all free memory of a CUDA device except for `bytes` bytes. The memory is freed when
/// the last owner of the result is destroyed.
std::shared_ptr<void> leave_free(heddle::Device device, std::size_t bytes);

}  // namespace bench
