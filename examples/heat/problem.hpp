// The problem: heat on a plate that is periodic from top to bottom. The values on its left and
// right sides are fixed, and form a sine.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace heat {

/// A grid of nx by ny points, stored row by row. Row 0 is the periodic image of row ny - 2, and row
/// ny - 1 is the image of row 1. The ny - 2 rows in between are computed. NVIDIA's
/// multi-gpu-programming-models solve the same problem, so times can be compared.
struct Problem {
    std::size_t nx = 512, ny = 512;  ///< each at least 3

    std::size_t rows() const { return ny - 2; }

    /// Returns one value for each row, which the row's first and last column have.
    std::vector<float> sides() const {
        std::vector<float> values(ny);
        for (std::size_t row = 0; row < ny; ++row)
            values[row] = static_cast<float>(std::sin(
                2 * std::numbers::pi * static_cast<double>(row) / static_cast<double>(ny - 1)));
        return values;
    }
};

/// The square root of the sum of all squared changes in one iteration. Iterations count from 1.
struct Norm {
    int iteration;
    double value;
    bool operator==(const Norm&) const = default;
};

}  // namespace heat
