// Calls of CUB for algorithms on CUDA devices. Included where nvcc compiles.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include <cuda/std/functional>

#include <heddle/algorithms/detail/call.hpp>
#include <heddle/algorithms/detail/functions.hpp>
#include <heddle/cuda.hpp>
#include <heddle/memory/detail/temporaries.hpp>
#include <heddle/operation/host_access.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// The memory that an algorithm uses: its arrays and views, and those in its functions.
template <class... Functions> class CubMemoryUse {
    using Used = MemoryArguments<View<char>, View<char>, View<char>, Functions...>;

public:
    explicit CubMemoryUse(Functions... functions) noexcept {
        (used_.add_members(functions, -1, true), ...);
    }
    /// Adds an argument of the algorithm, by its index after the stream.
    template <class T> CubMemoryUse& add(View<T> view, std::size_t argument) noexcept {
        used_.add(view, view, argument, true);
        return *this;
    }
    std::span<const MemoryArgument> all() const noexcept { return used_.all(); }

    /// Calls function(accesses) with the declarations that a DataOrder needs.
    template <class F> void with_declared(const SourceLocation& where, F function) const {
        with_declared(where, function, std::make_index_sequence<Used::most>());
    }

private:
    template <class F, std::size_t... I>
    void with_declared(const SourceLocation& where, F& function, std::index_sequence<I...>) const {
        const auto none = Access::make<DeclaredAccess>(Where(where));
        DeclaredAccess accesses[] = {(static_cast<void>(I), none)...};
        std::size_t count = 0;
        for (const MemoryArgument& one : all())
            accesses[count++] = Access::make<DeclaredAccess>(Where(where), one);
        function(std::span<const DeclaredAccess>(accesses, count));
    }
    Used used_;
};

/// Returns the same call, on a stream.
template <template <Algorithm> class Call, Algorithm algorithm>
CallOnStream<algorithm> on_stream(const Call<algorithm>& call, StreamRef stream) {
    return {stream, call.where};
}

/// Lends the stream of an algorithm. Observers see the operation under the algorithm's name.
template <Algorithm algorithm, class... Functions, class F>
void lend_stream(const CallOnStream<algorithm>& call, const CubMemoryUse<Functions...>& memory,
                 F& function) {
    const auto lend = [&](cudaStream_t native) { return function(call.stream, native); };
    detail::lend_to(call.stream, lend, memory.all(), call.where, name_of(algorithm));
}
template <Algorithm algorithm, class... Functions, class F>
void lend_stream(const CallByData<algorithm>& call, const CubMemoryUse<Functions...>& memory,
                 F& function) {
    const auto lend = [&](StreamRef stream) {
        detail::lend_stream(on_stream(call, stream), memory, function);
    };
    memory.with_declared(call.where, [&](std::span<const DeclaredAccess> accesses) {
        call.order.task(accesses, lend, Where(call.where));
    });
}

/// Calls of one type with equal sizes need equally much of CUB's temporary memory.
struct CubSizes {
    Device device;
    std::size_t count, bins;
    bool operator==(const CubSizes&) const = default;
};

/// Calls function(memory, bytes): with null, to get the number of bytes needed, then with that much
/// memory of the stream. Leaves out the first call, which costs the host about a microsecond, if
/// this thread's newest one was for equal sizes.
template <Algorithm algorithm, class F>
cudaError_t run_cub(const CallOnStream<algorithm>& call, std::size_t count, std::size_t bins,
                    const F& function) {
    thread_local std::optional<CubSizes> last;
    thread_local std::size_t needed = 0;
    const CubSizes sizes{call.device(), count, bins};
    if (last != sizes) {
        std::size_t bytes = 0;
        if (const cudaError_t code = function(nullptr, bytes); code != cudaSuccess) return code;
        needed = bytes;
        last = sizes;
    }
    std::size_t bytes = needed;
    auto memory = detail::make_temporary(call.stream, bytes, name_of(algorithm), call.where);
    return function(memory.data(), bytes);
}

/// Calls function(memory, bytes, native) for `count` elements, and for bins of a histogram, with
/// temporary memory: see run_cub().
template <template <Algorithm> class Call, Algorithm algorithm, class... Functions, class F>
void call_cub(const Call<algorithm>& call, const CubMemoryUse<Functions...>& use, std::size_t count,
              std::size_t bins, const F& function) {
    const auto run = [&](StreamRef stream, cudaStream_t native) -> cudaError_t {
        return detail::run_cub(
            on_stream(call, stream), count, bins,
            [&](void* memory, std::size_t& bytes) { return function(memory, bytes, native); });
    };
    detail::lend_stream(call, use, run);
}

/// A function in the form that CUB recognises.
template <class Op> const Op& as_cub_op(const Op& op) { return op; }
template <class T> cuda::std::plus<> as_cub_op(const std::plus<T>&) { return {}; }

/// Converts an element to T.
template <class T, class F> struct CubTransform {
    F transform;
    template <class In> HEDDLE_FN T operator()(const In& value) const {
        return static_cast<T>(transform(value));
    }
};

}  // namespace detail
}  // namespace heddle
