// The memory pools of devices, and the memory that arrays use and that streams cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/device/device.hpp>
#include <heddle/location.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Memory of a device's arrays and of its pool, in bytes, and counts of allocations. CPU devices
/// have no pool: there, `reserved` is `in_use` and `cached` together.
struct MemoryStats {
    std::size_t in_use = 0;  ///< in use by arrays now
    /// High-water mark of `in_use` since the last reset_peak_memory_stats(). An upper bound: it may
    /// include memory that streams cached.
    std::size_t peak = 0;
    std::size_t cached = 0;          ///< freed by arrays, and cached by their streams
    std::size_t reserved = 0;        ///< allocated from the device now
    std::size_t reserved_peak = 0;   ///< high-water mark of `reserved`
    std::uint64_t cache_hits = 0;    ///< arrays allocated from the cache
    std::uint64_t cache_misses = 0;  ///< arrays allocated from the device's pool
};

/// Returns the memory that the device's arrays use, that its streams cache for later arrays, and
/// that its pool holds:
///
///     for (int step = 0; step < 1000; ++step) train();
///     MemoryStats memory = memory_stats(device);
///     std::printf("%zu MB in use, %zu cached\n", memory.in_use >> 20, memory.cached >> 20);
///
/// Excludes pinned arrays and arrays made in captures and batches. trim_pool() releases the cached
/// memory. If other threads make arrays meanwhile, the values may not belong to the same moment.
/// Thread-safe.
MemoryStats memory_stats(Device device, Where where = {});

/// The old form of MemoryStats: the memory of arrays.
struct [[deprecated("use MemoryStats")]] MemoryStatistics {
    std::size_t held = 0;      ///< MemoryStats::cached
    std::size_t in_use = 0;    ///< MemoryStats::in_use
    std::size_t peak = 0;      ///< MemoryStats::peak
    std::uint64_t hits = 0;    ///< MemoryStats::cache_hits
    std::uint64_t misses = 0;  ///< MemoryStats::cache_misses
};
/// The old name of memory_stats().
[[deprecated("write memory_stats(device)")]] inline MemoryStatistics statistics(Device device,
                                                                                Where where = {}) {
    const MemoryStats now = memory_stats(device, where);
    return {now.cached, now.in_use, now.peak, now.cache_hits, now.cache_misses};
}
/// The old form of MemoryStats: the memory of the pool.
struct [[deprecated("use MemoryStats")]] PoolUsage {
    std::size_t used = 0;           ///< MemoryStats::in_use
    std::size_t used_high = 0;      ///< MemoryStats::peak
    std::size_t reserved = 0;       ///< MemoryStats::reserved
    std::size_t reserved_high = 0;  ///< MemoryStats::reserved_peak
};
/// The old name of memory_stats().
[[deprecated("write memory_stats(device)")]] inline PoolUsage pool_usage(Device device,
                                                                         Where where = {}) {
    const MemoryStats now = memory_stats(device, where);
    return {now.in_use, now.peak, now.reserved, now.reserved_peak};
}
/// Resets `peak` and `reserved_peak` to the current values.
void reset_peak_memory_stats(Device device, Where where = {});
/// The old name of reset_peak_memory_stats().
[[deprecated("write reset_peak_memory_stats(device)")]] inline void reset_pool_high_water(
    Device device, Where where = {}) {
    reset_peak_memory_stats(device, where);
}

/// Returns the bytes of unused memory that the pool keeps when the host waits for a stream or
/// event. By default the pool keeps all of it, because an allocation from the device takes about 17
/// times as long as one from the pool (H200). Returns 0 for CPU devices.
std::size_t pool_release_threshold(Device device, Where where = {});
/// Sets pool_release_threshold(). Throws Unsupported for CPU devices. Thread-safe.
void set_pool_release_threshold(Device device, std::size_t bytes, Where where = {});
/// Releases the pool's unused memory to the device, except for `keep` bytes. Before that, returns
/// to the pool the memory that streams cache for later arrays. Memory counts as used until its
/// stream has reached the free. Also destroys the idle streams that fork_join() caches for the
/// device.
///
/// Also releases the memory of destroyed graphs with conditional nodes, and of destroyed shareable
/// and imported arrays whose work a background thread has found complete. If there is any such
/// memory, the call waits for all work of the device. While a GPU waits for a CPU stream, the call
/// leaves that memory alone.
void trim_pool(Device device, std::size_t keep = 0, Where where = {});

}  // namespace heddle
