// heddle with CUB: calls with temporary memory of a stream and, from CCCL 3.2 on, environments.
// Needs nvcc.
//
//     with_temporary(stream, [&](void* memory, std::size_t& bytes, cudaStream_t native) {
//         return cub::DeviceReduce::Sum(memory, bytes, x.data(), sum.data(), n, native);
//     }, reads(x), writes(sum));
//
//     cub::DeviceReduce::Sum(x.data(), sum.data(), n, cub_environment(stream, reads(x),
//     writes(sum)));
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <cub/version.cuh>
#include <cuda/version>

#if CCCL_VERSION >= 3002000
#include <cuda/memory_resource>
#include <cuda/stream>
#endif

#include <heddle/cuda.hpp>
#include <heddle/memory/detail/temporaries.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
template <class F>
concept TakesTemporary =
    std::invocable<F&, void*, std::size_t&, cudaStream_t> &&
    std::same_as<std::invoke_result_t<F&, void*, std::size_t&, cudaStream_t>, cudaError_t>;
}  // namespace detail

/// Calls function(memory, bytes, native) twice, as CUB's device-wide algorithms expect: first with
/// null, to get the number of bytes needed, then with that much memory of the stream. Both calls
/// are made in one with_native(), which documents everything else. The function returns CUB's
/// cudaError_t. Memory is allocated and freed in the order of the stream, without blocking.
template <detail::TakesTemporary F, class... A>
void with_temporary(StreamRef stream, F&& function, const A&... accesses) {
    const auto call_twice = [&](cudaStream_t native) -> cudaError_t {
        std::size_t bytes = 0;
        if (const cudaError_t code = function(nullptr, bytes, native); code != cudaSuccess)
            return code;
        Array<std::byte> memory =
            detail::make_temporary(stream, bytes, "with_temporary", SourceLocation());
        return function(memory.data(), bytes, native);
    };
    with_native(stream, call_twice, accesses...);
}

#if CCCL_VERSION >= 3002000
namespace detail {
/// Provides a stream's temporaries as a memory resource of CCCL. Ignores the streams that are
/// passed to its functions, which are always the lent stream.
class CubMemory {
public:
    explicit CubMemory(Temporaries& memory) noexcept : memory_(&memory) {}
    void* allocate(cuda::stream_ref, std::size_t bytes, std::size_t = 1) {
        return memory_->allocate(bytes);
    }
    void deallocate(cuda::stream_ref, void* data, std::size_t, std::size_t = 1) noexcept {
        memory_->deallocate(data);
    }
    void* allocate_sync(std::size_t bytes, std::size_t = 1) { return memory_->allocate(bytes); }
    void deallocate_sync(void* data, std::size_t, std::size_t = 1) noexcept {
        memory_->deallocate(data);
    }
    bool operator==(const CubMemory&) const = default;
    friend void get_property(const CubMemory&, cuda::mr::device_accessible) noexcept {}
    using default_queries = cuda::mr::properties_list<cuda::mr::device_accessible>;

private:
    Temporaries* memory_;
};

/// A loan of a stream to CUB, with the memory that CUB allocates.
struct CubLoan : BorrowedStream {
    CubLoan(StreamRef stream, std::span<const MemoryArgument> memory, const SourceLocation& where)
        : BorrowedStream(stream, memory, "cub_environment", where),
          temporaries(stream, "cub_environment", where) {}
    cudaStream_t native() const noexcept { return native_; }
    Temporaries temporaries;
};
}  // namespace detail

/// An environment of CUB. Made by cub_environment(), which describes order, errors and threads. The
/// top of this file has an example. CUB copies environments: a copy refers to the original's loan,
/// which lasts until the end of the full expression.
class CubEnvironment {
public:
    /// Called by cub_environment().
    CubEnvironment(StreamRef stream, std::span<const detail::MemoryArgument> memory,
                   const SourceLocation& where)
        : own_(std::in_place, stream, memory, where), loan_(&*own_) {}
    CubEnvironment(const CubEnvironment& other) noexcept : loan_(other.loan_) {}
    CubEnvironment& operator=(const CubEnvironment&) = delete;

    /// Returns the stream, for CUB.
    cuda::stream_ref query(const cuda::get_stream_t&) const noexcept {
        return cuda::stream_ref{loan_->native()};
    }
    /// Returns the resource of temporary memory, for CUB.
    detail::CubMemory query(const cuda::mr::get_memory_resource_t&) const noexcept {
        return detail::CubMemory(loan_->temporaries);
    }

private:
    std::optional<detail::CubLoan> own_;
    detail::CubLoan* loan_;
};

/// Returns an environment that runs one algorithm of CUB on the stream, with temporary memory of
/// the stream (CCCL 3.2 or newer). The stream is lent until the end of the full expression: see
/// borrow() for order, declarations, errors and threads. Do not keep it.
[[nodiscard]] inline CubEnvironment cub_environment(StreamRef stream, Where where = {}) {
    return {stream, {}, where};
}
template <std::derived_from<DeclaredAccess>... A>
[[nodiscard]] CubEnvironment cub_environment(StreamRef stream, const DeclaredAccess& first,
                                             const A&... more) {
    const detail::DeclaredMemory memory(first, more...);
    return {stream, memory, first.where()};
}
/// The old name of cub_environment().
[[nodiscard, deprecated("write cub_environment(stream)")]] inline CubEnvironment environment(
    StreamRef stream, Where where = {}) {
    return cub_environment(stream, where);
}
template <std::derived_from<DeclaredAccess>... A>
[[nodiscard, deprecated("write cub_environment(stream, ...)")]] CubEnvironment environment(
    StreamRef stream, const DeclaredAccess& first, const A&... more) {
    return cub_environment(stream, first, more...);
}
#endif

}  // namespace heddle
