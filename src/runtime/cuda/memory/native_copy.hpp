// Copies that need no pieces of pinned memory.
#pragma once

#include "core/seam/backend.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Enqueues a copy between two pieces that the device can access. The pieces have equal `bytes` and
/// `rows`. Host-to-host copies run in a host function, except in a capture.
void copy_natively(Gpu& g, StreamRecord& stream, const Piece& to, const Piece& from,
                   const SourceLocation& where);

/// Copies from host memory to host memory in stream order, by a host function.
void copy_in_host_function(Gpu& g, StreamRecord& stream, const Piece& to, const Piece& from,
                           const SourceLocation& where);

}  // namespace heddle::detail::cu
