// Checks of a result.
#pragma once

#include <span>
#include <string>

#include "solver.hpp"

namespace heat {

/// Repeats the computation on one device without overlap and graphs, and small problems in a plain
/// loop as well. Returns the differences, or an empty string. Values and norms must be equal bit by
/// bit; those of the loop, which adds in another order, to within a millionth.
std::string differences(const Problem& problem, Device device, const Course& course,
                        std::span<const float> start, std::span<const float> plate,
                        const std::vector<Norm>& norms);

}  // namespace heat
