// Copies between devices and memory that the device cannot reach: through pieces of pinned memory.
#pragma once

#include "core/backend.hpp"
#include "cuda/gpu.hpp"

namespace heddle::detail::cu {

/// Pageable to device. Returns when the source has been read. Each call has its own pieces: it waits for its
/// own stream when they are all under way, never for another one.
void stage_to_device(Gpu& g, StreamRecord& stream, const Piece& to, const Piece& from,
                     const SourceLocation& where);

/// Device to pageable. Returns when the destination is filled: waits on the host.
void stage_from_device(Gpu& g, StreamRecord& stream, const Piece& to, const Piece& from,
                       const SourceLocation& where);

/// Between a device and memory of a CPU device, which must be read and written in stream order: by host
/// functions. Never blocks.
void stage_in_order(Gpu& g, StreamRecord& stream, const Piece& to, const Piece& from,
                    const SourceLocation& where);

/// A copy that the device does itself, of what `to` and `from` say but for their size: `rows` rows of
/// `bytes`.
void copy_natively(Gpu& g, StreamRecord& stream, const Piece& to, const Piece& from,
                   const SourceLocation& where);

}  // namespace heddle::detail::cu
