// What others of the backend want from access between GPUs.
#pragma once

#include <heddle/device.hpp>
#include <heddle/error.hpp>

namespace heddle::detail::cu {

/// Enables pool access, both ways, for copies in graphs: memory of pools can be copied between GPUs by a node only where the one has access to
/// the other's pool (seen with CUDA 13.0; cudaMemcpyPeerAsync, which needs none, cannot be captured). False where it cannot be.
bool open_pools(Device a, Device b, const SourceLocation& where);

}  // namespace heddle::detail::cu
