// Statistics of the memory that arrays use, and that streams cache for later arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/device/device.hpp>
#include <heddle/error.hpp>

namespace heddle {

/// Memory of a device's arrays, in bytes, and counts of allocations from the cache and from the
/// pool.
struct MemoryStatistics {
    std::size_t held = 0;    ///< freed by arrays, and cached by their streams
    std::size_t in_use = 0;  ///< in use by arrays now
    /// High-water mark of `in_use` since the last reset_pool_high_water(). An upper bound: it may
    /// include memory that streams cached.
    std::size_t peak = 0;
    std::uint64_t hits = 0;    ///< arrays allocated from the cache
    std::uint64_t misses = 0;  ///< arrays allocated from the device's pool
};

/// Returns the memory that the device's arrays use, and that its streams cache for later arrays:
///
///     for (int step = 0; step < 1000; ++step) train();
///     MemoryStatistics memory = statistics(Device{});
///     std::printf("%zu MB in use, %zu kept\n", memory.in_use >> 20, memory.held >> 20);
///
/// Excludes pinned arrays and arrays made in captures and batches. trim_pool() releases the cached
/// memory. If other threads make arrays meanwhile, the values may not belong to the same moment.
/// Thread-safe.
MemoryStatistics statistics(Device device, Where where = {});

}  // namespace heddle
