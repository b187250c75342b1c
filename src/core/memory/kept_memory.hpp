// Memory of devices that arrays have freed, and that streams keep for their later arrays: a cache
// above the pools of the backends (docs/adr/0052).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/seam/records.hpp"

namespace heddle::detail {

/// Memory from Backend::allocate(), while an array has it or a stream keeps it. The record itself
/// is never freed. Neighbours are other threads'.
struct alignas(64) MemoryPiece {
    void* data = nullptr;
    std::size_t bytes = 0;          ///< a whole_size()
    std::size_t wasted = 0;         ///< how much less was asked for, beyond rounding
    std::uint64_t key = 0;          ///< of the stream that keeps it
    std::uint64_t submissions = 0;  ///< of that stream when the memory was freed
    MemoryPiece* next_free = nullptr;
};

/// Memory for an array. Without a piece it is the pool's when it is freed.
struct ArrayMemory {
    void* data;
    MemoryPiece* piece;
};

/// Returns memory of at least so many bytes for work enqueued on the stream from now on: what the
/// stream keeps, what another one keeps that this one is ordered after, or the pool's. `bytes` > 0.
/// The stream is not recorded. Throws as Backend::allocate(). Thread-safe.
ArrayMemory allocate_memory(StreamRecord& stream, std::size_t bytes, const SourceLocation& where);

/// Frees the memory after all work enqueued so far on its users: one of them keeps it if it is
/// ordered after the others, else the pool gets it. Never blocks. Returns false if that needs
/// memory and there is none; nothing has happened then. Thread-safe.
[[nodiscard]] bool free_memory(MemoryPiece& piece, Device device,
                               std::span<const StreamUse> users) noexcept;

/// What the streams of a device keep.
struct KeptTotals {
    std::size_t bytes = 0;
    std::size_t least = 0;  ///< the least that they have kept since reset_least_kept(), or less
    std::uint64_t hits = 0, misses = 0;
};
KeptTotals kept_totals(Device device) noexcept;
void reset_least_kept(Device device) noexcept;

}  // namespace heddle::detail
