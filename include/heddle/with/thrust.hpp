// heddle with Thrust: an execution policy that runs an algorithm on a stream. Needs nvcc.
//
//     thrust::sort(thrust_policy(stream, writes(x)), x.data(), x.data() + x.size());
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include <thrust/system/cuda/execution_policy.h>

#include <heddle/cuda.hpp>
#include <heddle/memory/detail/temporaries.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
/// Allocates Thrust's temporaries as arrays of a stream.
class ThrustAllocator {
public:
    using value_type = char;
    explicit ThrustAllocator(Temporaries& memory) noexcept : memory_(&memory) {}
    char* allocate(std::ptrdiff_t bytes) {
        return static_cast<char*>(memory_->allocate(static_cast<std::size_t>(bytes)));
    }
    void deallocate(char* data, std::size_t) noexcept { memory_->deallocate(data); }

private:
    Temporaries* memory_;
};

/// The parts of a policy that its base refers to.
struct ThrustLoan : BorrowedStream {
    ThrustLoan(StreamRef stream, std::span<const MemoryArgument> memory,
               const SourceLocation& where)
        : BorrowedStream(stream, memory, "thrust_policy", where),
          temporaries(stream, "thrust_policy", where) {}
    auto policy() { return thrust::cuda::par_nosync(allocator).on(native_); }

    Temporaries temporaries;
    ThrustAllocator allocator{temporaries};
};
using ThrustBase = decltype(std::declval<ThrustLoan&>().policy());
}  // namespace detail

/// An execution policy of Thrust. Made by thrust_policy(), which has an example, and describes
/// lifetime, order, errors and threads.
class ThrustPolicy : detail::ThrustLoan, public detail::ThrustBase {
public:
    /// Called by thrust_policy().
    ThrustPolicy(StreamRef lent, std::span<const detail::MemoryArgument> memory,
                 const SourceLocation& where)
        : ThrustLoan(lent, memory, where), detail::ThrustBase(ThrustLoan::policy()) {}
};

/// Returns a policy that runs one algorithm of Thrust on the stream, as thrust::cuda::par_nosync
/// does: algorithms that return nothing, or an iterator, do not block. Others, such as
/// thrust::reduce(), block until their result is available, so they cannot be captured.
///
///     thrust::sort(thrust_policy(stream, writes(keys)), keys.data(), keys.data() + n);
///     float sum = thrust::reduce(thrust_policy(stream, reads(x)), x.data(), x.data() + n);
///
/// The algorithm's temporary memory is from the stream, not from cudaMalloc(), which would wait for
/// the device. The stream is lent until the end of the full expression: see borrow() for order,
/// declarations, errors and threads. Do not keep the policy.
[[nodiscard]] inline ThrustPolicy thrust_policy(StreamRef stream, Where where = {}) {
    return {stream, {}, where};
}
template <std::derived_from<DeclaredAccess>... A>
[[nodiscard]] ThrustPolicy thrust_policy(StreamRef stream, const DeclaredAccess& first,
                                         const A&... more) {
    const detail::DeclaredMemory memory(first, more...);
    return {stream, memory, first.where()};
}

/// The old name of thrust_policy().
[[nodiscard, deprecated("write thrust_policy(stream)")]] inline ThrustPolicy policy(
    StreamRef stream, Where where = {}) {
    return thrust_policy(stream, where);
}
template <std::derived_from<DeclaredAccess>... A>
[[nodiscard, deprecated("write thrust_policy(stream, ...)")]] ThrustPolicy policy(
    StreamRef stream, const DeclaredAccess& first, const A&... more) {
    return thrust_policy(stream, first, more...);
}

}  // namespace heddle
