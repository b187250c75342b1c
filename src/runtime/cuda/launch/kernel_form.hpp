// Converts a closure to the form of a kernel that CUDA can launch.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <heddle/detail/launch_nvcc_registry.hpp>
#include <heddle/launch/detail/kernel_closures.hpp>

namespace heddle::detail::cu {

inline dim3 dim3_of(const Extents& e) noexcept { return {e.x, e.y, e.z}; }

/// Returns the number of threads in a block of a portable kernel with one dimension, for at least
/// one index. If there are few indices, the blocks are smaller, so that all multiprocessors take
/// part.
inline unsigned threads_for(std::size_t indices, std::size_t processors) noexcept {
    if (indices > (portable_block - 32) * processors) return portable_block;
    if (indices <= 32 * processors) return 32;
    const std::size_t share = (indices + processors - 1) / processors;
    return static_cast<unsigned>((share + 31) / 32 * 32);
}

/// The most blocks in the first dimension of a grid.
inline constexpr std::size_t most_blocks = 0x7fffffff;
/// Returns the number of blocks for threads_for(). Divides by constants if possible.
inline std::size_t blocks_for(std::size_t indices, unsigned threads) noexcept {
    if (threads == 32) return (indices + 31) / 32;
    if (threads == portable_block) return (indices + portable_block - 1) / portable_block;
    return (indices + threads - 1) / threads;
}

/// The parameters of a launch. Refers to the closure, and to the addresses of its parts.
struct KernelForm {
    const void* function = nullptr;
    /// Whether `function` is a driver function of a module loaded at run time. Otherwise it is a
    /// runtime symbol.
    bool is_loaded = false;
    dim3 grid, block;
    std::size_t shared_bytes = 0;
    void** arguments = nullptr;
};

/// Makes the form of a closure for a device with `processors` multiprocessors. Writes the addresses
/// of the closure's parts. `site` is the first argument of a kernel with bounds checks, and must
/// outlive the form. Throws UsageError if the extents or options of a portable kernel are invalid.
KernelForm form_of(const WorkType& type, void* closure, void** addresses, unsigned processors,
                   const LaunchOptions& options, const BoundsSite* const& site,
                   const SourceLocation& where);

}  // namespace heddle::detail::cu
