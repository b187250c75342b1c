// The kernels that combine elements. They take long to compile, so floating-point numbers and
// integers are instantiated in separate files.
#pragma once

#include <cstdint>

#include "collective/float16.hpp"
#include "collective/pack.hpp"
#include "collective/reduce.hpp"
#include <heddle/launch/launch.hpp>

namespace heddle::detail {

// Signed integers are computed as unsigned ones, so that they wrap around.
template <class T, bool = std::is_integral_v<T>> struct Unsigned {
    using type = T;
};
template <class T> struct Unsigned<T, true> {
    using type = std::make_unsigned_t<T>;
};
template <class T> using Wrapping = typename Unsigned<T>::type;

struct Sum {
    template <class T> HEDDLE_FN static T of(T a, T b) {
        using W = Wrapping<T>;
        return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
    }
};
struct Product {
    template <class T> HEDDLE_FN static T of(T a, T b) {
        using W = Wrapping<T>;
        return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
    }
};
struct Min {
    template <class T> HEDDLE_FN static T of(T a, T b) {
        if constexpr (std::is_floating_point_v<T>) return b < a || b != b ? b : a;
        else return b < a ? b : a;
    }
};
struct Max {
    template <class T> HEDDLE_FN static T of(T a, T b) {
        if constexpr (std::is_floating_point_v<T>) return b > a || b != b ? b : a;
        else return b > a ? b : a;
    }
};

// 16-bit numbers are combined as floats and rounded once per launch.
template <class T> HEDDLE_FN T opened(T x) { return x; }
HEDDLE_FN inline float opened(Float16 x) { return x.value(); }
HEDDLE_FN inline float opened(BFloat16 x) { return x.value(); }
template <class T, class A> HEDDLE_FN T closed(A x) {
    if constexpr (std::is_same_v<T, A>) return x;
    else return T::of(x);
}
template <class T> using Opened = decltype(opened(T{}));

/// Each index combines `width` elements. On a GPU, `width` is one element or one pack, so that
/// neighbouring threads read neighbouring elements. On a CPU, it is the length of a long loop.
template <class T, class Op, bool divides> struct Reduce {
    std::uint64_t count;
    std::uint64_t width;
    double ranks;

    HEDDLE_FN void operator()(std::size_t i, View<T> to, View<const T> a, View<const T> b,
                              View<const T> c, View<const T> d, View<const T> e, View<const T> f,
                              View<const T> g, View<const T> h) const {
        const T* const from[] = {a.data(), b.data(), c.data(), d.data(),
                                 e.data(), f.data(), g.data(), h.data()};
        switch (count) {
        case 1: return combine<1>(i, to, from);
        case 2: return combine<2>(i, to, from);
        case 3: return combine<3>(i, to, from);
        case 4: return combine<4>(i, to, from);
        case 5: return combine<5>(i, to, from);
        case 6: return combine<6>(i, to, from);
        case 7: return combine<7>(i, to, from);
        default: return combine<8>(i, to, from);
        }
    }

    template <int n>
    HEDDLE_FN void combine(std::size_t i, View<T> to, const T* const (&from)[reduce_width]) const {
        const std::size_t first = i * width;
#ifdef __CUDA_ARCH__
        if (width == Pack<T>::width && first + width <= to.size()) {
            Pack<T> x[n];
            for (int k = 0; k < n; ++k) x[k] = *reinterpret_cast<const Pack<T>*>(from[k] + first);
            for (std::size_t e = 0; e < Pack<T>::width; ++e) {
                T each[n];
                for (int k = 0; k < n; ++k) each[k] = x[k].at[e];
                x[0].at[e] = combined(each);
            }
            *reinterpret_cast<Pack<T>*>(to.data() + first) = x[0];
            return;
        }
#endif
        const std::size_t last = to.size() - first < width ? to.size() : first + width;
        // `to` may alias a source, but only element by element: elements with the same index then
        // have the same address.
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // one element, or the rest of a pack
#elif defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
        for (std::size_t k = first; k < last; ++k) to[k] = loaded<n>(from, k);
    }

    /// Makes all loads before the first use of a value, so that loads from other devices overlap.
    template <int n> HEDDLE_FN T loaded(const T* const (&from)[reduce_width], std::size_t i) const {
        T x[n];
        for (int k = 0; k < n; ++k) x[k] = from[k][i];
        return combined(x);
    }
    template <int n> HEDDLE_FN T combined(const T (&x)[n]) const {
        Opened<T> all = opened(x[0]);
        for (int k = 1; k < n; ++k) all = Op::of(all, opened(x[k]));
        if constexpr (divides) all /= static_cast<Opened<T>>(ranks);
        return closed<T>(all);
    }
};

template <class T, class Op, bool divides = false> void launch_one(const ReduceOrder& o) {
    using Kernel = Reduce<T, Op, divides>;
    std::size_t width = 1024;
    if (o.stream.device().is_cuda()) {
        std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(o.to.data);
        for (std::size_t k = 0; k < o.count; ++k)
            bits |= reinterpret_cast<std::uintptr_t>(o.sources[k].data);
        width = bits % sizeof(Pack<T>) == 0 ? Pack<T>::width : 1;
    }
    const auto source = [&](std::size_t k) {
        if (k >= o.count) return View<const T>();
        const Part& part = o.sources[k];
        return Access::view(static_cast<const T*>(part.data), part.size, part.owner);
    };
    launch(o.stream, Kernel{o.count, width, static_cast<double>(o.ranks)},
           dim((o.to.size + width - 1) / width, o.where),
           Access::view(static_cast<T*>(o.to.data), o.to.size, o.to.owner), source(0), source(1),
           source(2), source(3), source(4), source(5), source(6), source(7));
}

template <class T> void launch_typed(const ReduceOrder& order, ReduceOp op) {
    using W = Wrapping<T>;  // signed and unsigned types share one kernel
    switch (op) {
    case ReduceOp::product: return launch_one<W, Product>(order);
    case ReduceOp::min: return launch_one<T, Min>(order);
    case ReduceOp::max: return launch_one<T, Max>(order);
    case ReduceOp::average:
        if constexpr (std::is_floating_point_v<Opened<T>>) return launch_one<T, Sum, true>(order);
        break;
    case ReduceOp::sum: break;
    }
    launch_one<W, Sum>(order);
}

}  // namespace heddle::detail
