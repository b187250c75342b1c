// The kernels of random programs.
#pragma once

#include "gpu_clock.hpp"
#include "program.hpp"

#include <memory>
#include <stdexcept>
#include <string>

#if defined(__CUDACC__)
#include <heddle/cuda.hpp>
#endif

namespace heddle_test::programs {

/// Spins if `i` is 0, so only once in each kernel. One turn takes about a nanosecond.
HEDDLE_FN inline void idle(std::size_t i, int turns) {
    if (i != 0) return;
#if defined(__CUDA_ARCH__)
    // Uses a clock: ptxas removes a loop that only counts, even if the counter is volatile.
    const std::uint64_t begin = now_on_gpu();
    while (now_on_gpu() - begin < static_cast<std::uint64_t>(turns)) continue;
#else
    for (volatile int turn = 0; turn < turns;) turn = turn + 1;
#endif
}

/// to = to * a + b
struct Scale {
    HEDDLE_FN void operator()(std::size_t i, View<int> to, Word a, Word b, int slow) const {
        idle(i, slow);
        to[i] = static_cast<int>(static_cast<Word>(to[i]) * a + b);
    }
};

/// to = to * a + from + b
struct Mix {
    HEDDLE_FN void operator()(std::size_t i, View<const int> from, View<int> to, Word a, Word b,
                              int slow) const {
        idle(i, slow);
        to[i] = static_cast<int>(static_cast<Word>(to[i]) * a + static_cast<Word>(from[i]) + b);
    }
};

/// to = from % modulus, for a single element
struct Decide {
    HEDDLE_FN void operator()(std::size_t i, View<const int> from, View<int> to,
                              Word modulus) const {
        to[i] = static_cast<int>(static_cast<Word>(from[i]) % modulus);
    }
};

/// Decrements the number if it is small and positive. Sets it to 0 otherwise. So a loop ends soon
/// even if a missing wait lets other work overwrite its number.
struct CountDown {
    HEDDLE_FN void operator()(std::size_t i, View<int> to) const {
        to[i] = to[i] > 0 && to[i] < 100 ? to[i] - 1 : 0;
    }
};

/// On CPU devices, throws an exception.
struct Fail {
    HEDDLE_FN void operator()(std::size_t i, int id) const {
#if !defined(__CUDA_ARCH__)
        if (i == 0) throw std::runtime_error("statement " + std::to_string(id) + " fails");
#else
        (void)i, (void)id;
#endif
    }
};

/// Only spins.
struct Idle {
    HEDDLE_FN void operator()(std::size_t i, int turns) const { idle(i, turns); }
};

/// The body of a host function.
struct HostWork {
    View<int> to;
    View<const int> from;
    std::size_t count;
    Word a, b;
    int slow;
    void operator()() const {
        idle(0, slow);
        for (std::size_t i = 0; i < count; ++i)
            to[i] = static_cast<int>(static_cast<Word>(to[i]) * a + b +
                                     (from.empty() ? 0 : static_cast<Word>(from[i])));
    }
};
/// A HostWork that owns an object, which must be destroyed.
struct OwningHostWork {
    HostWork work;
    std::shared_ptr<Word> owned;
    void operator()() const { work(); }
};

// The same kernels as lambdas that capture their data.

/// The values that a lambda captures.
struct Captured {
    View<const int> from;
    View<int> to;
    Word a, b;
    int slow;
};
/// Launches Scale or Mix as a lambda. If `stream` is null, uses the current stream.
inline void launch_capturing(const Statement& s, const StreamRef* stream, const Captured& c) {
    const auto enqueue = [&](const auto& kernel) {
        if (stream != nullptr) launch(*stream, kernel, dim(c.to.size()));
        else launch(kernel, dim(c.to.size()));
    };
    if (s.what == What::mix)
        enqueue([c] HEDDLE_FN(std::size_t i) { Mix{}(i, c.from, c.to, c.a, c.b, c.slow); });
    else enqueue([c] HEDDLE_FN(std::size_t i) { Scale{}(i, c.to, c.a, c.b, c.slow); });
}
/// Makes a node that runs Scale or Mix. It follows `first`, unless that is empty.
inline GraphNode capturing_node(const Statement& s, Device device, const Captured& c,
                                const GraphNode& first) {
    const auto make = [&](const auto& kernel) -> GraphNode {
        auto node = kernel_node(device, kernel, dim(c.to.size()));
        if (first) node.after(first);
        return node;
    };
    if (s.what == What::mix)
        return make([c] HEDDLE_FN(std::size_t i) { Mix{}(i, c.from, c.to, c.a, c.b, c.slow); });
    return make([c] HEDDLE_FN(std::size_t i) { Scale{}(i, c.to, c.a, c.b, c.slow); });
}

/// Launches Scale or Mix natively, on a lent stream. Compiled as CUDA only.
#if defined(__CUDACC__)
inline constexpr bool can_launch_natively = true;
template <class K, class... A> __global__ void natively(K kernel, std::size_t n, A... args) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) kernel(i, args...);
}
inline void launch_natively(StreamRef stream, bool mixes, const Captured& c) {
    const std::size_t n = c.to.size();
    const auto blocks = static_cast<unsigned>((n + 255) / 256);
    with_native(
        stream,
        [&](cudaStream_t native) {
            if (mixes)
                natively<<<blocks, 256, 0, native>>>(Mix{}, n, c.from, c.to, c.a, c.b, c.slow);
            else natively<<<blocks, 256, 0, native>>>(Scale{}, n, c.to, c.a, c.b, c.slow);
        },
        reads(c.from), writes(c.to));
}
#else
inline constexpr bool can_launch_natively = false;
inline void launch_natively(StreamRef, bool, const Captured&) {}
#endif

}  // namespace heddle_test::programs
