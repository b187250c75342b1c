// Calls of CUB for algorithms on CUDA devices. Included where nvcc compiles.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <cuda/std/functional>

#include <heddle/algorithms/detail/call.hpp>
#include <heddle/algorithms/detail/functions.hpp>
#include <heddle/cuda.hpp>
#include <heddle/memory/detail/temporaries.hpp>
#include <heddle/operation/host_access.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Lends the stream of an algorithm. Observers see the operation under the algorithm's name.
template <Algorithm algorithm, class F>
void lend_stream(const CallOnStream<algorithm>& call, std::span<const MemoryArgument> memory,
                 F& function) {
    const auto lend = [&](cudaStream_t native) { return function(call.stream, native); };
    detail::lend_to(call.stream, lend, memory, call.where, name_of(algorithm));
}
template <Algorithm algorithm, class F>
void lend_stream(const CallByData<algorithm>& call, std::span<const MemoryArgument> memory,
                 F& function) {
    std::vector<DeclaredAccess> accesses;
    accesses.reserve(memory.size());
    for (const MemoryArgument& one : memory)
        accesses.push_back(Access::make<DeclaredAccess>(Where(call.where), one));
    call.order.task(
        std::span<const DeclaredAccess>(accesses),
        [&](StreamRef stream) {
            detail::lend_stream(CallOnStream<algorithm>{stream, call.where}, memory, function);
        },
        Where(call.where));
}

/// The memory that an algorithm uses: its arrays and views, and those in its functions.
template <class... Functions> class CubMemoryUse {
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

private:
    MemoryArguments<View<char>, View<char>, View<char>, Functions...> used_;
};

/// Calls function(memory, bytes, native) twice, as CUB expects: see with_temporary().
template <class Call, class F>
void call_cub(const Call& call, std::span<const MemoryArgument> memory, const F& function) {
    const auto call_twice = [&](StreamRef stream, cudaStream_t native) -> cudaError_t {
        std::size_t bytes = 0;
        if (const cudaError_t code = function(nullptr, bytes, native); code != cudaSuccess)
            return code;
        Temporaries temporaries(stream, call.where);
        return function(temporaries.allocate(bytes), bytes, native);
    };
    detail::lend_stream(call, memory, call_twice);
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
