// Copies that need no pieces of pinned memory.
#pragma once

#include "core/seam/backend.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Enqueues a copy between memories that the device can access. Both pieces have the same `bytes`
/// and `rows`. Host-to-host copies run in a host function, except in a capture.
void copy_natively(Gpu& g, StreamRecord& stream, const Piece& to, const Piece& from,
                   const SourceLocation& where);

/// Copies between host memories in stream order, in a host function.
void copy_in_host_function(Gpu& g, StreamRecord& stream, const Piece& to, const Piece& from,
                           const SourceLocation& where);

}  // namespace heddle::detail::cu
