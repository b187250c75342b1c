// Mdspans and spans of CCCL, kernels that use them, and checks of their accesses.
#pragma once

#include "operation/watch.hpp"

#include <heddle/with/mdspan.hpp>

#include <cuda/std/mdspan>
#include <cuda/std/span>

#include <numeric>
#include <utility>

namespace heddle_test {

using cuda::std::dextents;
using cuda::std::extents;
template <class T, std::size_t rank>
using Grid = cuda::std::mdspan<T, dextents<std::size_t, rank>, cuda::std::layout_right>;
using Matrix = Grid<int, 2>;
using ConstMatrix = Grid<const int, 2>;
using Left = cuda::std::mdspan<int, dextents<int, 2>, cuda::std::layout_left>;
using Strided = cuda::std::mdspan<int, dextents<std::size_t, 2>, cuda::std::layout_stride>;
using Point = cuda::std::mdspan<int, extents<int>>;
using Fixed = cuda::std::mdspan<int, extents<int, 3, cuda::std::dynamic_extent>>;

/// m(y, x) = 10 y + x + 1
struct SetAll {
    template <class M> HEDDLE_FN void operator()(std::size_t x, std::size_t y, M m) const {
        m(y, x) = static_cast<int>(10 * y + x + 1);
    }
};
struct AddMatrix {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, ConstMatrix in, Matrix out) const {
        out(y, x) += in(y, x);
    }
};
struct AddOnes {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, Matrix m) const { m(y, x) += 1; }
};
struct SetPoint {
    HEDDLE_FN void operator()(std::size_t, Point p) const { p() = 42; }
};
struct Iota1 {
    HEDDLE_FN void operator()(std::size_t x, Grid<int, 1> m) const { m(x) = static_cast<int>(x); }
};
struct Iota3 {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, std::size_t z, Grid<int, 3> m) const {
        m(z, y, x) = static_cast<int>((z * m.extent(1) + y) * m.extent(2) + x);
    }
};
struct Iota4 {
    HEDDLE_FN void operator()(std::size_t i, Grid<int, 4> m) const {
        std::size_t at[4], rest = i;
        for (std::size_t r = 4; r-- > 0; rest /= m.extent(r)) at[r] = rest % m.extent(r);
        m(at[0], at[1], at[2], at[3]) = static_cast<int>(i);
    }
};
/// y[i] += x[i]
struct AddSpan {
    HEDDLE_FN void operator()(std::size_t i, cuda::std::span<const int> x,
                              cuda::std::span<int> y) const {
        y[i] += x[i];
    }
};
struct ThrowInGrid {
    HEDDLE_FN void operator()(std::size_t, std::size_t, Matrix m) const {
        m(0, 0) = 1;
#ifndef __CUDA_ARCH__
        throw Boom("from the kernel");
#endif
    }
};

inline void check_access(const OpAccess& access, const Array<int>& array, std::size_t first,
                         std::size_t count, AccessMode mode, int argument) {
    CHECK(access.data == std::as_const(array).view().data() + first);
    CHECK(access.bytes == count * sizeof(int));
    CHECK(access.allocation == detail::allocation_of(detail::Access::block(array)));
    CHECK(access.mode == mode);
    CHECK(access.argument == argument);
    CHECK(access.element == sizeof(int));
}

struct Fixture {
    Fixture() { s.synchronize(); }
    Drained drained;
    Stream s{test_device(), {.name = "s"}};
    Array<int> x = full<int>(s, 12, 5), y = zeros<int>(s, 12);
};

inline Ints iota(std::size_t n) {
    Ints all(n);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

}  // namespace heddle_test
