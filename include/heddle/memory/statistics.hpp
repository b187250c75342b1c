// Statistics of the memory that arrays use, and that streams keep for later arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/device/device.hpp>
#include <heddle/error.hpp>

namespace heddle {

/// Memory of a device's arrays, in bytes, and how often an array got memory that another had freed.
struct MemoryStatistics {
    std::size_t held = 0;    ///< freed by arrays, and kept by their streams for later ones
    std::size_t in_use = 0;  ///< by arrays now
    /// The most that was in use at once since the last reset_pool_high_water(), or more: memory
    /// that was kept then may count too.
    std::size_t peak = 0;
    std::uint64_t hits = 0;    ///< arrays made of memory that streams had kept
    std::uint64_t misses = 0;  ///< arrays whose memory came from the device's pool
};

/// Returns how much memory the device's arrays use, and how much its streams keep for later arrays:
///
///     for (int step = 0; step < 1000; ++step) train();
///     MemoryStatistics memory = statistics(Device{});
///     std::printf("%zu MB in use, %zu kept\n", memory.in_use >> 20, memory.held >> 20);
///
/// Counts no pinned arrays, and none that captures and batches make. trim_pool() releases the
/// memory that is kept. While other threads make arrays the figures are of different moments.
/// Thread-safe.
MemoryStatistics statistics(Device device, Where where = {});

}  // namespace heddle
