// Copies between a device and memory that it cannot access, through pieces of pinned memory.
#pragma once

#include "core/seam/backend.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Copies from pageable memory to a device. Returns once the source has been read. Each call uses
/// separate pieces. If all of them are in flight, waits for `stream`, and never for another stream.
void stage_to_device(Gpu& g, StreamRecord& stream, const Operand& to, const Operand& from,
                     const SourceLocation& where);

/// Copies from a device to pageable memory. Blocks until the destination is filled.
void stage_from_device(Gpu& g, StreamRecord& stream, const Operand& to, const Operand& from,
                       const SourceLocation& where);

/// Copies between a device and memory of a CPU device, which host functions read and write in
/// stream order. Never blocks.
void stage_in_order(Gpu& g, StreamRecord& stream, const Operand& to, const Operand& from,
                    const SourceLocation& where);

}  // namespace heddle::detail::cu
