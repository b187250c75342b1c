// A clock for kernels.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
namespace heddle_test {

/// Returns the nanoseconds of the GPU's global timer, in steps of up to 1 µs. Unlike clock64() it
/// is one for all multiprocessors, whose own clocks drift apart (on an H200 by some 2 million
/// cycles a second).
__device__ inline std::uint64_t now_on_gpu() {
    std::uint64_t ns = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

}  // namespace heddle_test
#endif
