// Access between GPUs, as used by the rest of the backend.
#pragma once

#include <heddle/device/device.hpp>
#include <heddle/error.hpp>

namespace heddle::detail::cu {

/// Enables pool access between two GPUs, in both directions. Returns false if one of them cannot
/// access the other's pool. Copy nodes of graphs need this access: a node copies pool memory
/// between GPUs only if one can access the other's pool (seen with CUDA 13.0). cudaMemcpyPeerAsync
/// needs no access, but cannot be captured.
bool open_pools(Device a, Device b, const SourceLocation& where);

}  // namespace heddle::detail::cu
