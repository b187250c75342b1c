// Access between GPUs, as used by the rest of the backend.
#pragma once

#include <heddle/device/device.hpp>
#include <heddle/error.hpp>

namespace heddle::detail::cu {

/// Enables pool access between two GPUs, in both directions. Copy nodes of graphs need it: a node
/// copies pool memory between GPUs only if one can access the other's pool (seen with CUDA 13.0).
/// cudaMemcpyPeerAsync needs no access, but cannot be captured. Returns false if one of the GPUs
/// cannot access the other's pool.
bool open_pools(Device a, Device b, const SourceLocation& where);

}  // namespace heddle::detail::cu
