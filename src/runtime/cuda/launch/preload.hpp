// Handles the first launches of kernels.
#pragma once

#include <atomic>
#include <cstdint>

#include <heddle/detail/launch_nvcc_registry.hpp>
#include <heddle/launch/detail/work.hpp>

namespace heddle::detail::cu {

/// Returns whether the kernel has been launched on the device, so that note_launch() has no effect.
inline bool has_launched(const PortableCode& code, Device device) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (device.index() & 63);
    return (code.loaded->load(std::memory_order_relaxed) & bit) != 0;
}

/// Call before a launch of a portable kernel. If this is the kernel's first launch on the device,
/// and would load code during a capture or while the device is busy, applies the CodeLoadPolicy
/// (heddle/code/preload.hpp).
void note_launch(StreamState& stream, const LaunchCall& call);

}  // namespace heddle::detail::cu
