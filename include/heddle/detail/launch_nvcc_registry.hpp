// Registry of the program's kernels, filled before any of them is launched. For files compiled by
// nvcc, and the library.
#pragma once

#include <atomic>
#include <cstdint>

#include <heddle/location.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// The most threads in a block of a portable kernel. Kernels are compiled for this limit.
inline constexpr unsigned portable_block = 256;

/// The CUDA code of a portable kernel.
struct PortableCode {
    const void* function;                ///< the symbol of its __global__ function
    std::atomic<std::uint64_t>* loaded;  ///< one bit for each device on which it has been launched
    bool registered;                     ///< whether register_kernel() was called for it
};

template <class K> inline constexpr char preload_tag = 0;

/// Registers a kernel. `tag` identifies the kernel's type, independent of the arguments. `loaded`
/// has one bit per device. Returns true, so that it can initialise a variable.
bool register_kernel(const void* function, const void* tag, std::atomic<std::uint64_t>* loaded);
/// Loads a `__global__` function's code.
void preload_function(Device device, const void* function, const SourceLocation& where);

}  // namespace detail
}  // namespace heddle
