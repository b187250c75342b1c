// bench_arrays: what its parts give each other.
#pragma once

#include <cstddef>
#include <memory>

#include <heddle/device/device.hpp>

#include "measure.hpp"

namespace bench {

/// cudaMallocFromPoolAsync and cudaFreeAsync on a CUDA device, with a pool that keeps what is
/// freed; by the names of rows.
Peers cuda_pool(heddle::Device device);
/// Returns the most memory that the peers' pool has had since the last call, in bytes.
std::size_t cuda_pool_high(heddle::Device device);
/// Takes all free memory of a CUDA device but so much, and gives it back when the last owner of
/// the result is gone.
std::shared_ptr<void> leave_free(heddle::Device device, std::size_t bytes);

}  // namespace bench
