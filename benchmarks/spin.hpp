// Kernels that take a known time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <heddle/kernel.hpp>

namespace bench {

/// Returns the time of the calling processor's clock, in ns. On a GPU, the clock is the global
/// timer, in steps of 32 ns to 1 µs.
HEDDLE_FN inline std::uint64_t clock_ns() {
#ifdef __CUDA_ARCH__
    std::uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
#else
    using namespace std::chrono;
    return static_cast<std::uint64_t>(
        duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
#endif
}

HEDDLE_FN inline void spin_for(std::uint64_t ns) {
    const std::uint64_t begin = clock_ns();
    while (clock_ns() - begin < ns) {}
}

/// A portable kernel. Each of its indices takes `ns`.
struct Spin {
    HEDDLE_FN void operator()(std::size_t, std::uint64_t ns) const { spin_for(ns); }
};

}  // namespace bench
