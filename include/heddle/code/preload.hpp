// preload(): loads kernels' code onto a device before it is needed; and the policy for late loads.
#pragma once

#include <cstdint>

#include <heddle/code/module.hpp>
#include <heddle/detail/launch_nvcc_registry.hpp>
#include <heddle/device/device.hpp>
#include <heddle/error.hpp>
#include <heddle/kernel.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
/// Loads all instantiations registered with `tag`, or those of all kernels if `tag` is null.
void preload_kernel(Device device, const void* tag, const SourceLocation& where);

}  // namespace detail

/// Loads the code of portable kernels onto a device: every instantiation that a launch, node or
/// prepared launch in a file compiled by nvcc uses. Afterwards, the first launches of these kernels
/// do not block.
///
/// Without it, CUDA loads a kernel's code at its first launch (unless CUDA_MODULE_LOADING=EAGER).
/// That blocks until the device is idle: for 500 ms if a kernel of 500 ms is running (H200).
/// preload() blocks in the same way: call it before there is work. Does nothing on CPU devices. For
/// `__global__` functions see heddle/cuda.hpp.
template <detail::KernelObject... K>
    requires(sizeof...(K) > 0)
void preload(Device device, const K&...) {
    (detail::preload_kernel(device, &detail::preload_tag<K>, Where()), ...);
}
/// Loads all portable kernels of the program, and heddle's own kernels.
inline void preload_all(Device device, Where where = {}) {
    detail::preload_kernel(device, nullptr, where);
}

/// Blocks until a module's code and all its kernels are loaded. Afterwards, the first launches of
/// these kernels do not block. Throws the errors of Module::wait().
inline void preload(const Module& code, Where where = {}) { code.wait(where); }

/// The response to a launch that would load code while its device is busy, or in a capture that
/// heddle did not begin. Such a stall is otherwise invisible.
enum class CodeLoadPolicy : std::uint8_t {
    count,   ///< counts the launch
    warn,    ///< also calls the report hook, with the kernel's name
    refuse,  ///< counts the launch, which throws UsageError instead of loading
};
/// Sets the policy of the process, for portable kernels only. Checked at the first launch of each
/// kernel on each device; later launches cost nothing. Thread-safe.
void set_code_load_policy(CodeLoadPolicy policy) noexcept;
/// Returns the policy of the process, CodeLoadPolicy::count unless it was set. Thread-safe.
CodeLoadPolicy code_load_policy() noexcept;
/// Returns the number of launches that loaded code while their device was busy. Includes launches
/// that CodeLoadPolicy::refuse prevented.
std::uint64_t code_loads_while_busy() noexcept;

}  // namespace heddle
