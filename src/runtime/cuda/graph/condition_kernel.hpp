// The kernel that sets the condition of a conditional node from an int in memory. Declares
// everything that condition_kernel.cu exports to C++ files.
#pragma once

#include <cuda_runtime_api.h>

namespace heddle::detail::cu {

/// The kernel's arguments, and the node parameters that point to these arguments. Cannot be moved.
struct ConditionKernel {
    cudaGraphConditionalHandle handle = 0;
    const int* value = nullptr;
    /// The number of bodies of a switch. 0 for all other conditions, which are true if the value is
    /// non-zero.
    unsigned cases = 0;
    void* arguments[3] = {&handle, &value, &cases};
    cudaKernelNodeParams native{};

    ConditionKernel(cudaGraphConditionalHandle handle, const int* value, unsigned cases) noexcept;
    ConditionKernel(const ConditionKernel&) = delete;
    ConditionKernel& operator=(const ConditionKernel&) = delete;
};

/// Returns the kernel. Its code is loaded when a device is first used.
const void* condition_kernel() noexcept;

}  // namespace heddle::detail::cu
