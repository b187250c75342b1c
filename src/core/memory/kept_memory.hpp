// A cache above the pools of the backends: device memory that arrays have freed, and that streams
// cache for their later arrays (docs/adr/0052).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/seam/records.hpp"

namespace heddle::detail {

/// Memory from Backend::allocate(), while an array uses it or a stream caches it. The record itself
/// is never freed. Adjacent records belong to other threads.
struct alignas(64) MemoryPiece {
    void* data = nullptr;
    std::size_t bytes = 0;          ///< a whole_size()
    std::size_t wasted = 0;         ///< excess over the request, beyond rounding
    std::uint64_t key = 0;          ///< StreamState::key of the stream that caches it
    std::uint64_t submissions = 0;  ///< that stream's submissions when the memory was freed
    MemoryPiece* next_free = nullptr;
};

/// Memory for an array. Without a piece, it returns to the pool when it is freed.
struct ArrayMemory {
    void* data;
    MemoryPiece* piece;
};

/// Returns memory of at least `bytes` bytes for work enqueued on the stream from now on. Uses the
/// stream's cache, the cache of another stream that it is ordered after, or the pool. `bytes` > 0.
/// The stream is not recorded. Throws as Backend::allocate(). Thread-safe.
ArrayMemory allocate_memory(StreamRecord& stream, std::size_t bytes, const SourceLocation& where);

/// Frees the memory after all work enqueued so far on its users. A user that is ordered after all
/// others caches it, else it returns to the pool. Never blocks. Returns false, and changes nothing,
/// if that needs memory and there is none. Thread-safe.
[[nodiscard]] bool free_memory(MemoryPiece& piece, Device device,
                               std::span<const StreamUse> users) noexcept;

/// Totals of the memory that the streams of a device cache.
struct KeptTotals {
    std::size_t bytes = 0;
    std::size_t least = 0;  ///< low-water mark since reset_least_kept(), a lower bound
    std::uint64_t hits = 0, misses = 0;
};
KeptTotals kept_totals(Device device) noexcept;
void reset_least_kept(Device device) noexcept;

}  // namespace heddle::detail
