// bench_bounds: the same kernels, compiled twice.
#pragma once

#include <cstddef>

#include <heddle/launch/launch.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/memory/view_2d.hpp>

namespace bench::checked {  // compiled with HEDDLE_BOUNDS=1
/// Computes y += 2 x for the first `n` elements.
void saxpy(heddle::StreamRef s, std::size_t n, heddle::View<const float> x, heddle::View<float> y);
/// Sets each inner element to the mean of its four neighbours.
void stencil(heddle::StreamRef s, const heddle::View2D<const float>& from,
             const heddle::View2D<float>& to);
}  // namespace bench::checked

namespace bench::unchecked {  // compiled with HEDDLE_BOUNDS=0
void saxpy(heddle::StreamRef s, std::size_t n, heddle::View<const float> x, heddle::View<float> y);
void stencil(heddle::StreamRef s, const heddle::View2D<const float>& from,
             const heddle::View2D<float>& to);
}  // namespace bench::unchecked
