// Copies that need no pieces of pinned memory.
#pragma once

#include "core/seam/backend.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Enqueues a copy between memory that the device can access. Both operands have equal `bytes` and
/// `rows`. Host-to-host copies run in a host function, except in a capture.
void copy_natively(Gpu& g, StreamRecord& stream, const Operand& to, const Operand& from,
                   const SourceLocation& where);

/// Copies from host memory to host memory in stream order, by a host function.
void copy_in_host_function(Gpu& g, StreamRecord& stream, const Operand& to, const Operand& from,
                           const SourceLocation& where);

}  // namespace heddle::detail::cu
