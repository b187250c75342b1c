// The memory pools of devices, and the memory that arrays use and that streams cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/device/device.hpp>
#include <heddle/location.hpp>

namespace heddle HEDDLE_VISIBLE {

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

/// Usage of a device's memory pool, in bytes. CPU devices have no pool: there, `reserved` is memory
/// in use or cached by streams (statistics()).
struct PoolUsage {
    std::size_t used = 0;  ///< in use by arrays now
    /// High-water mark of `used` since the last reset. An upper bound: it may include memory that
    /// streams cached.
    std::size_t used_high = 0;
    std::size_t reserved = 0;       ///< allocated from the device now
    std::size_t reserved_high = 0;  ///< high-water mark of `reserved`
};
/// Returns the usage of the device's pool and its high-water marks. Thread-safe.
PoolUsage pool_usage(Device device, Where where = {});
/// Resets used_high and reserved_high to the current values.
void reset_pool_high_water(Device device, Where where = {});

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
