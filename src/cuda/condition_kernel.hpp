// The kernel that tells a conditional node what an int in memory says: all that condition_kernel.cu shows to C++ files.
#pragma once

#include <cuda_runtime_api.h>

namespace heddle::detail::cu {

/// Its arguments, and what points to them: not to be moved.
struct ConditionKernel {
    cudaGraphConditionalHandle handle = 0;
    const int* value = nullptr;
    unsigned cases = 0;  ///< a switch with so many bodies; 0: whether the value is not 0
    void* arguments[3] = {&handle, &value, &cases};
    cudaKernelNodeParams native{};

    ConditionKernel(cudaGraphConditionalHandle handle, const int* value, unsigned cases) noexcept;
    ConditionKernel(const ConditionKernel&) = delete;
    ConditionKernel& operator=(const ConditionKernel&) = delete;
};

/// Its code is loaded when a device is first used.
const void* condition_kernel() noexcept;

}  // namespace heddle::detail::cu
