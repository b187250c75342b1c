// bench_two_devices: the computation, which heddle's kernels and those by hand share.
#pragma once

#include <cstddef>

#include <heddle/kernel.hpp>

namespace bench {

/// Each device has a strip of this many rows, and a halo row before and after them. A halo is a row
/// of the other device's strip.
inline constexpr std::size_t columns = 4096, rows = 64;
inline constexpr std::size_t strip_points = rows * columns;
inline constexpr std::size_t grid_points = strip_points + 2 * columns;
/// The norm is left in this many sums, which the host would add.
inline constexpr std::size_t norm_parts = 64;

/// Returns the new value of point `i` of the strip: the mean of its four neighbours.
HEDDLE_FN inline float relaxed(const float* grid, std::size_t i) {
    const std::size_t column = i % columns;
    const float* const row = grid + columns + (i - column);
    const float left = row[column == 0 ? columns - 1 : column - 1],
                right = row[column + 1 == columns ? 0 : column + 1];
    return 0.25f * (left + right + grid[i] + grid[i + 2 * columns]);
}

/// Returns the sum of the squared changes of a column.
HEDDLE_FN inline float change_of_column(const float* before, const float* after,
                                        std::size_t column) {
    float sum = 0;
    for (std::size_t row = 1; row <= rows; ++row) {
        const float change = after[row * columns + column] - before[row * columns + column];
        sum += change * change;
    }
    return sum;
}

/// Returns one part of the sum of all columns.
HEDDLE_FN inline float part_of_norm(const float* column_sums, std::size_t part) {
    float sum = 0;
    for (std::size_t i = part; i < columns; i += norm_parts) sum += column_sums[i];
    return sum;
}

}  // namespace bench
