// Reductions on CPU devices: a partial result for each chunk, then the result of all chunks.
#pragma once

#include <cstddef>
#include <utility>

#include <heddle/algorithms/detail/chunks.hpp>
#include <heddle/algorithms/detail/functions.hpp>

namespace heddle::detail {

/// The number of independent results that a chunk keeps, so that the compiler can vectorise. Fixed
/// for a type, because floating-point results depend on it.
template <class T> inline constexpr std::size_t lanes = sizeof(T) <= 4 ? 16 : 8;

template <class T, class Get, class Op, std::size_t... lane>
T fold_lanes(const Get& get, std::size_t begin, std::size_t end, const Op& op,
             std::index_sequence<lane...>) {
    constexpr std::size_t count = sizeof...(lane);
    T all[] = {get(begin + lane)...};
    for (begin += count; end - begin >= count; begin += count)
        ((all[lane] = static_cast<T>(op(all[lane], get(begin + lane)))), ...);
    for (std::size_t i = 0; begin + i < end; ++i)
        all[i] = static_cast<T>(op(all[i], get(begin + i)));
    for (std::size_t width = count / 2; width > 0; width /= 2)
        for (std::size_t i = 0; i < width; ++i) all[i] = static_cast<T>(op(all[i], all[i + width]));
    return all[0];
}
/// Returns get(begin) op ... op get(end - 1) for at least one element. `op` is associative and
/// commutative.
template <class T, class Get, class Op>
T fold(const Get& get, std::size_t begin, std::size_t end, const Op& op) {
    constexpr std::size_t count = lanes<T>;
    if (end - begin >= count)
        return detail::fold_lanes<T>(get, begin, end, op, std::make_index_sequence<count>());
    T result = get(begin);
    while (++begin < end) result = static_cast<T>(op(result, get(begin)));
    return result;
}

/// Computes the partial result of each chunk.
template <class Get, class Op> struct ReduceChunks : KernelOf<Get, Op> {
    Get get;
    Op op;
    template <class In, class T>
    void operator()(std::size_t chunk, View<const In> in, View<T> partial) const {
        const Chunk part = Chunks{in.size()}[chunk];
        const In* const data = in.data();
        partial.data()[chunk] = detail::fold<T>([&](std::size_t i) -> T { return get(data, i); },
                                                part.begin, part.end, op);
    }
};
/// Combines `init` with partial results, and writes finish(result).
template <class T, class Op, class Finish> struct ReducePartials : KernelOf<T, Op, Finish> {
    T init;
    Op op;
    Finish finish;
    template <class Out> void operator()(std::size_t, View<const T> partial, View<Out> out) const {
        const T* const data = partial.data();
        const T all =
            detail::fold<T>([data](std::size_t i) -> T { return data[i]; }, 0, partial.size(), op);
        *out.data() = static_cast<Out>(finish(static_cast<T>(op(init, all))));
    }
};
/// Reduces an input of at most one chunk.
template <class T, class Get, class Op, class Finish>
struct ReduceFew : KernelOf<T, Get, Op, Finish> {
    T init;
    Get get;
    Op op;
    Finish finish;
    template <class In, class Out>
    void operator()(std::size_t, View<const In> in, View<Out> out) const {
        T all = init;
        const In* const data = in.data();
        if (in.size() != 0)
            all = static_cast<T>(
                op(init, detail::fold<T>([&](std::size_t i) -> T { return get(data, i); }, 0,
                                         in.size(), op)));
        *out.data() = static_cast<Out>(finish(all));
    }
};

/// Writes finish(init op get(0) op get(1) ...) to `out`, on a CPU device.
template <class T, class Call, class In, class Out, class Get, class Op, class Finish = Identity>
void reduce_on_cpu(const Call& call, View<const In> in, View<Out> out, const T& init,
                   const Get& get, const Op& op, const Finish& finish = {}) {
    const std::size_t chunks = Chunks{in.size()}.count();
    if (chunks <= 1)
        return detail::launch_chunks<0, 1>(
            call, 1, ReduceFew<T, Get, Op, Finish>{{}, init, get, op, finish}, in, out);
    Array<T> partial = call.template temporary<T>(chunks);
    detail::launch_chunks<0, 2>(call, chunks, ReduceChunks<Get, Op>{{}, get, op}, in,
                                partial.view());
    detail::launch_chunks<2, 1>(call, 1, ReducePartials<T, Op, Finish>{{}, init, op, finish},
                                View<const T>(partial.view()), out);
}

}  // namespace heddle::detail
