// Scans on CPU devices: the total of each chunk, the total before each chunk, then the results.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <type_traits>

#include <heddle/algorithms/detail/chunks.hpp>
#include <heddle/algorithms/detail/reduce_chunks.hpp>
#include <heddle/algorithms/detail/scan_kind.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Computes the total of each chunk.
template <class T, class Op> struct TotalChunks : KernelOf<Op> {
    Op op;
    template <class In> void operator()(std::size_t chunk, View<const In> in, View<T> total) const {
        const Chunk part = Chunks{in.size()}[chunk];
        const In* const data = in.data();
        const auto get = [data](std::size_t i) -> T { return static_cast<T>(data[i]); };
        if constexpr (std::is_arithmetic_v<T> && is_standard<Op, std::plus, T>) {
            total.data()[chunk] = detail::fold<T>(get, part.begin, part.end, op);
        } else {  // `op` need not be commutative
            T result = get(part.begin);
            for (std::size_t i = part.begin + 1; i < part.end; ++i)
                result = static_cast<T>(op(result, get(i)));
            total.data()[chunk] = result;
        }
    }
};

/// Replaces the total of each chunk by the total before the chunk. For an inclusive scan, the first
/// chunk has none, and keeps its own.
template <class T, class Op, ScanKind kind> struct ScanTotals : KernelOf<T, Op> {
    T init;
    Op op;
    void operator()(std::size_t, View<T> total) const {
        T* const data = total.data();
        const std::size_t count = total.size();
        T before = kind == ScanKind::exclusive ? init : data[0];
        for (std::size_t i = kind == ScanKind::exclusive ? 0 : 1; i < count; ++i) {
            const T next = static_cast<T>(op(before, data[i]));
            data[i] = before;
            before = next;
        }
    }
};

/// Writes the results of each chunk.
template <class T, class Op, ScanKind kind> struct ScanChunks : KernelOf<T, Op> {
    T init;
    Op op;

    template <class In>
    void operator()(std::size_t chunk, View<const In> in, View<T> out, View<const T> before) const {
        const Chunk part = Chunks{in.size()}[chunk];
        if (chunk == 0 && kind == ScanKind::inclusive) first_chunk(part, in.data(), out.data());
        else scan(part, in.data(), out.data(), before.data()[chunk]);
    }
    /// For an input that one thread scans.
    template <class In> void operator()(std::size_t, View<const In> in, View<T> out) const {
        const Chunk all{0, in.size()};
        if constexpr (kind == ScanKind::inclusive) first_chunk(all, in.data(), out.data());
        else scan(all, in.data(), out.data(), init);
    }

    template <class In> void first_chunk(Chunk part, const In* in, T* out) const {
        const T first = static_cast<T>(in[part.begin]);
        out[part.begin] = first;
        scan({part.begin + 1, part.end}, in, out, first);
    }
    template <class In> void scan(Chunk part, const In* in, T* out, T before) const {
        if constexpr (std::is_floating_point_v<T> && is_standard<Op, std::plus, T>)
            scan_quarters(part, in, out, before);
        for (std::size_t i = part.begin; i < part.end; ++i) add(in, out, i, before);
    }
    /// Scans four parts at the same time, because a processor begins a floating-point addition only
    /// when the previous result is known. Removes them from `part`.
    template <class In> void scan_quarters(Chunk& part, const In* in, T* out, T& before) const {
        if (part.size() < 1024) return;
        // Not a whole page: processors compare the addresses of loads and stores within a page.
        const std::size_t quarter = part.size() / 4 - 24;
        const auto get = [in](std::size_t i) -> T { return static_cast<T>(in[i]); };
        const auto total = [&](std::size_t k) {
            const std::size_t begin = part.begin + k * quarter;
            return detail::fold<T>(get, begin, begin + quarter, op);
        };
        // Variables, because results in an array could be in the memory of `out`.
        T a = before, b = op(a, total(0)), c = op(b, total(1)), d = op(c, total(2));
        for (std::size_t i = part.begin; i < part.begin + quarter; ++i) {
            add(in, out, i, a);
            add(in, out, i + quarter, b);
            add(in, out, i + 2 * quarter, c);
            add(in, out, i + 3 * quarter, d);
        }
        part.begin += 4 * quarter;
        before = d;
    }
    /// Writes the result `i`. `before` is the total before the element, and then includes it.
    template <class In> void add(const In* in, T* out, std::size_t i, T& before) const {
        const T next = static_cast<T>(op(before, static_cast<T>(in[i])));
        out[i] = kind == ScanKind::inclusive ? next : before;
        before = next;
    }
};

/// The most elements that one thread scans alone: sums of 64 K numbers take it 40 to 60 µs, as long
/// as 16 threads. Depends on types only, because floating-point results depend on it.
template <class T, class Op>
inline constexpr std::size_t scanned_at_once =
    Chunks::usual * (std::is_arithmetic_v<T> && is_standard<Op, std::plus, T> ? 16 : 1);

template <ScanKind kind, class Call, class In, class T, class Op>
void scan_on_cpu(const Call& call, View<const In> in, View<T> out, const T& init, const Op& op) {
    const std::size_t chunks = Chunks{in.size()}.count();
    const ScanChunks<T, Op, kind> scan{{}, init, op};
    if (in.size() <= scanned_at_once<T, Op>)
        return detail::launch_chunks<0, 1>(call, std::min<std::size_t>(chunks, 1), scan, in, out);
    Array<T> total = call.template temporary<T>(chunks);
    detail::launch_chunks<0, 2>(call, chunks, TotalChunks<T, Op>{{}, op}, in, total.view());
    detail::launch_chunks<2>(call, 1, ScanTotals<T, Op, kind>{{}, init, op}, total.view());
    detail::launch_chunks<0, 1, 2>(call, chunks, scan, in, out, View<const T>(total.view()));
}

}  // namespace detail
}  // namespace heddle
