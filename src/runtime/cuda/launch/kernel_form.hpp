// Converts a closure to the form of a kernel that CUDA can launch.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <heddle/launch/detail/kernel_closures.hpp>

namespace heddle::detail::cu {

inline dim3 dim3_of(const Extents& e) noexcept { return {e.x, e.y, e.z}; }

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
