// Kernels' code on its device before it is needed.
#pragma once

#include <cstdint>
#include <type_traits>

#include <heddle/detail/launch_nvcc_registry.hpp>
#include <heddle/device.hpp>
#include <heddle/error.hpp>
#include <heddle/kernel.hpp>
#include <heddle/module.hpp>

namespace heddle {

namespace detail {
/// Loads the instantiations of a kernel that the program knows; null: of all kernels.
void preload_kernel(Device device, const void* tag, const SourceLocation& where);

}  // namespace detail

/// Loads the code of portable kernels onto a device: of every instantiation that some launch, node or prepared launch in files compiled by nvcc has. A CUDA program
/// loads a kernel's code at its first launch otherwise (unless CUDA_MODULE_LOADING=EAGER), and that waits for whatever the device is
/// doing: 500 ms behind a kernel of 500 ms (H200). Afterwards no first launch waits. Loading now waits in the same way: do it before
/// there is work. Nothing on CPU devices. For `__global__` functions see heddle/cuda.hpp.
template <class... K>
    requires(sizeof...(K) > 0 && (std::is_class_v<K> && ...))
void preload(Device device, const K&...) {
    (detail::preload_kernel(device, &detail::preload_tag<K>, SourceLocation::current()), ...);
}
/// All portable kernels of the program, and heddle's own.
inline void preload_all(Device device, SourceLocation where = SourceLocation::current()) {
    detail::preload_kernel(device, nullptr, where);
}

/// Waits until a module's code is loaded, all its kernels with it: no first launch of theirs waits then. Throws what Module::wait() throws.
inline void preload(const Module& code, SourceLocation where = SourceLocation::current()) {
    code.wait(where);
}

/// What a launch does that would load code while its device is busy, or inside of a capture that others began: the stall that shows nowhere.
enum class CodeLoadPolicy : std::uint8_t {
    count,   ///< it is counted, and nothing else
    warn,    ///< and told to the report hook, with the kernel's name
    refuse,  ///< and the launch throws UsageError instead
};
/// For the whole process. Portable kernels only. The first launch of each kernel on each device asks; later ones cost nothing.
void set_code_load_policy(CodeLoadPolicy policy) noexcept;
CodeLoadPolicy code_load_policy() noexcept;
/// How many launches have loaded code while their device was busy (with CodeLoadPolicy::refuse: would have).
std::uint64_t code_loads_while_busy() noexcept;

}  // namespace heddle
