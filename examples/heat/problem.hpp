// The problem: heat on a plate that is periodic from top to bottom. Its left and right sides are
// fixed at a sine.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace heat {

/// nx by ny points, row by row. Row 0 is the periodic image of row ny - 2, and row ny - 1 that of
/// row 1; the ny - 2 rows between them are computed. It is the problem of NVIDIA's
/// multi-gpu-programming-models, so that times compare.
struct Problem {
    std::size_t nx = 512, ny = 512;  ///< at least 3 each

    std::size_t rows() const { return ny - 2; }

    /// Returns the value of the first and the last column in each row.
    std::vector<float> sides() const {
        std::vector<float> values(ny);
        for (std::size_t row = 0; row < ny; ++row)
            values[row] = static_cast<float>(std::sin(
                2 * std::numbers::pi * static_cast<double>(row) / static_cast<double>(ny - 1)));
        return values;
    }
};

/// The root of the summed squared changes of one iteration. Iterations count from 1.
struct Norm {
    int iteration;
    double value;
    bool operator==(const Norm&) const = default;
};

}  // namespace heat
