// Reductions on CPU devices: a partial result for each chunk, then the result of all chunks.
#pragma once

#include <cstddef>
#include <utility>

#include <heddle/algorithms/detail/chunks.hpp>
#include <heddle/algorithms/detail/functions.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// The number of independent results that a chunk keeps, so that the compiler can vectorise. Fixed
/// for a type, because floating-point results depend on it.
template <class T> inline constexpr std::size_t accumulators = sizeof(T) <= 4 ? 16 : 8;

template <class T, class Get, class Op, std::size_t... at>
T fold_accumulators(const Get& get, std::size_t begin, std::size_t end, const Op& op,
                    std::index_sequence<at...>) {
    constexpr std::size_t count = sizeof...(at);
    T all[] = {get(begin + at)...};
    for (begin += count; end - begin >= count; begin += count)
        ((all[at] = static_cast<T>(op(all[at], get(begin + at)))), ...);
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
    constexpr std::size_t count = accumulators<T>;
    if (end - begin >= count)
        return detail::fold_accumulators<T>(get, begin, end, op, std::make_index_sequence<count>());
    T result = get(begin);
    while (++begin < end) result = static_cast<T>(op(result, get(begin)));
    return result;
}

/// Returns get(i, in...) op ... of the elements of a chunk.
template <class T, class Get, class Op, class... In>
T fold_chunk(const Get& get, const Op& op, Chunk part, const In*... in) {
    return detail::fold<T>([&](std::size_t i) -> T { return get(i, in...); }, part.begin, part.end,
                           op);
}

/// Computes the partial result of each chunk of one or more inputs.
template <class Get, class Op> struct ReduceChunks : KernelOf<Get, Op> {
    Get get;
    Op op;
    std::size_t size;
    template <class T, class... In>
    void operator()(std::size_t chunk, View<T> partial, View<const In>... in) const {
        partial.data()[chunk] = detail::fold_chunk<T>(get, op, Chunks{size}[chunk], in.data()...);
    }
};
/// Combines `init` with partial results, and writes finish(result).
template <class T, class Op, class Finish> struct ReducePartials : KernelOf<T, Op, Finish> {
    T init;
    Op op;
    Finish finish;
    template <class Out> void operator()(std::size_t, View<const T> partial, View<Out> out) const {
        const auto get = [](std::size_t i, const T* data) { return data[i]; };
        const T all = detail::fold_chunk<T>(get, op, {0, partial.size()}, partial.data());
        *out.data() = static_cast<Out>(finish(static_cast<T>(op(init, all))));
    }
};
/// Reduces inputs of at most one chunk.
template <class T, class Get, class Op, class Finish>
struct ReduceFew : KernelOf<T, Get, Op, Finish> {
    T init;
    Get get;
    Op op;
    Finish finish;
    std::size_t size;
    template <class Out, class... In>
    void operator()(std::size_t, View<Out> out, View<const In>... in) const {
        T all = init;
        if (size != 0)
            all = static_cast<T>(op(init, detail::fold_chunk<T>(get, op, {0, size}, in.data()...)));
        *out.data() = static_cast<Out>(finish(all));
    }
};

template <class T, class Call, class Out, class Get, class Op, class Finish, int... i, class... In>
void reduce_on_cpu(const Call& call, View<Out> out, const T& init, const Get& get, const Op& op,
                   const Finish& finish, std::size_t size, std::integer_sequence<int, i...>,
                   View<const In>... in) {
    constexpr int count = sizeof...(In);
    const std::size_t chunks = Chunks{size}.count();
    if (chunks <= 1)
        return detail::launch_chunks<count, i...>(
            call, 1, ReduceFew<T, Get, Op, Finish>{{}, init, get, op, finish, size}, out, in...);
    Array<T> partial = call.template temporary<T>(chunks);
    detail::launch_chunks<count + 1, i...>(call, chunks, ReduceChunks<Get, Op>{{}, get, op, size},
                                           partial.view(), in...);
    detail::launch_chunks<count + 1, count>(call, 1,
                                            ReducePartials<T, Op, Finish>{{}, init, op, finish},
                                            View<const T>(partial.view()), out);
}
/// Writes finish(init op get(0, in...) op get(1, in...) ...) to `out`, on a CPU device. The inputs
/// have the same size.
template <class T, class Call, class Out, class Get, class Op, class Finish, class In,
          class... More>
void reduce_on_cpu(const Call& call, View<Out> out, const T& init, const Get& get, const Op& op,
                   const Finish& finish, View<const In> in, View<const More>... more) {
    detail::reduce_on_cpu<T>(call, out, init, get, op, finish, in.size(),
                             std::make_integer_sequence<int, 1 + sizeof...(More)>(), in, more...);
}

}  // namespace detail
}  // namespace heddle
