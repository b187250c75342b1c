// Launch options on CUDA: checks against the device, and launch attributes.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include "core/base/errors.hpp"
#include "cuda/device/gpu.hpp"
#include <heddle/launch/launch_options.hpp>

namespace heddle::detail::cu {

/// Writes the attributes of a launch on the stream's device to `to`, except programmatic
/// dependence. Returns their number, at most 4. (launch/launch.cpp)
unsigned attributes_of(StreamState& stream, const LaunchOptions& options, cudaLaunchAttribute* to);
/// Throws UsageError, naming the limit, or Unsupported if the stream's device does not support such
/// a launch. Opts the kernel in to dynamic shared memory beyond 48 KB.
void check_options(StreamState& stream, const void* function, dim3 grid, dim3 block,
                   std::size_t shared_bytes, const LaunchOptions& options,
                   const SourceLocation& where);

/// Parts of check_options(). check_way() makes the checks that do not depend on the kernel.
/// check_fits_at_once() throws UsageError if the grid has more than `most` blocks; `most` is the
/// number of blocks that can be resident on the device at once.
void check_way(StreamState& stream, const LaunchOptions& options, dim3 grid,
               const SourceLocation& where);
void check_fits_at_once(StreamState& stream, std::size_t most, dim3 grid,
                        const SourceLocation& where);
std::size_t cluster_size(const LaunchOptions& options) noexcept;  ///< in blocks

}  // namespace heddle::detail::cu
