// A cache above the memory pools of the backends. Streams cache device memory that arrays have
// freed, for their later arrays (docs/adr/0052).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/seam/records.hpp"

namespace heddle::detail {

/// Memory from Backend::allocate(). An array uses it, or a stream caches it. The record itself is
/// never freed. It has a cache line of its own, because other threads use adjacent records.
struct alignas(64) PooledMemory {
    void* data = nullptr;
    std::size_t bytes = 0;   ///< a result of whole_size()
    std::size_t wasted = 0;  ///< excess over the rounded request, in bytes
    std::uint64_t key = 0;   ///< StreamState::key of the caching stream
    /// Number of that stream's submissions when the memory was freed.
    std::uint64_t submissions = 0;
    PooledMemory* next_free = nullptr;
};

/// Memory for an array. If `pooled` is null, the memory returns to the pool when it is freed.
struct ArrayMemory {
    void* data;
    PooledMemory* pooled;
};

/// Returns at least `bytes` bytes of memory for work that is enqueued on the stream from now on.
/// Searches the stream's cache, then the caches of other streams for memory whose uses precede that
/// work. Otherwise allocates from the pool. `bytes` must be > 0, and the stream must not be
/// recorded. Throws the same errors as Backend::allocate(). Thread-safe.
ArrayMemory allocate_memory(StreamRecord& stream, std::size_t bytes, const SourceLocation& where);

/// Frees the memory after all work that its users have enqueued so far. If one user is ordered
/// after all others, that stream caches the memory. Otherwise the memory returns to the pool. Never
/// blocks. If memory for this is exhausted, returns false and changes nothing. Thread-safe.
[[nodiscard]] bool free_memory(PooledMemory& pooled, Device device,
                               std::span<const StreamUse> users) noexcept;

/// Totals of the memory that the streams of a device cache.
struct KeptTotals {
    std::size_t bytes = 0;
    std::size_t low_water = 0;  ///< lower bound of the low-water mark since reset_kept_low_water()
    std::uint64_t hits = 0, misses = 0;
};
KeptTotals kept_totals(Device device) noexcept;
void reset_kept_low_water(Device device) noexcept;

}  // namespace heddle::detail
