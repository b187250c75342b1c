// Whether a result is right.
#pragma once

#include <span>
#include <string>

#include "solver.hpp"

namespace heat {

/// Computes the same on one device, without overlap and graphs, and small problems in a plain loop
/// as well. Says what differs; empty if nothing does. Values and norms have to be equal bit for
/// bit; those of the loop, whose sums have another order, to a millionth.
std::string differences(const Problem& problem, Device device, const Course& course,
                        std::span<const float> start, std::span<const float> plate,
                        const std::vector<Norm>& norms);

}  // namespace heat
