// A clock for kernels.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
namespace heddle_test {

/// Returns the time of the GPU's global timer, in ns. Its steps are up to 1 µs. All multiprocessors
/// share this timer. In contrast, each multiprocessor has its own clock64(), and these clocks drift
/// apart (on an H200 by about 2 million cycles a second).
__device__ inline std::uint64_t now_on_gpu() {
    std::uint64_t ns = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

}  // namespace heddle_test
#endif
