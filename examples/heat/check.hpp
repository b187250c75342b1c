// Checks a result.
#pragma once

#include <span>
#include <string>

#include "solver.hpp"

namespace heat {

/// Repeats the computation on one device, without overlap and without graphs. For small problems,
/// also repeats it by a plain loop. Returns a text with the differences, or an empty string. Values
/// and norms must be equal bit by bit. Only the loop's norms may differ, by a millionth, because
/// the loop adds in another order.
std::string differences(const Problem& problem, Device device, const Course& course,
                        std::span<const float> start, std::span<const float> plate,
                        const std::vector<Norm>& norms);

}  // namespace heat
