#include "cuda/graph/condition_kernel.hpp"

namespace heddle::detail::cu {

namespace {

// In a switch, replaces a value that selects no body by the number of bodies, so that no body runs.
__global__ void set_condition(cudaGraphConditionalHandle handle, const int* value, unsigned cases) {
    const int now = *static_cast<const volatile int*>(value);
    unsigned condition = now != 0 ? 1 : 0;
    if (cases != 0)
        condition = static_cast<unsigned>(now) < cases ? static_cast<unsigned>(now) : cases;
    cudaGraphSetConditional(handle, condition);
}

}  // namespace

ConditionKernel::ConditionKernel(cudaGraphConditionalHandle of_node, const int* decides,
                                 unsigned bodies) noexcept
    : handle(of_node), value(decides), cases(bodies) {
    native.func = reinterpret_cast<void*>(&set_condition);
    native.gridDim = dim3(1);
    native.blockDim = dim3(1);
    native.kernelParams = arguments;
}

const void* condition_kernel() noexcept { return reinterpret_cast<const void*>(&set_condition); }

}  // namespace heddle::detail::cu
