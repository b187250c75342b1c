// The first sentences of a summary.
#pragma once

#include <string>
#include <vector>

#include "timeline/solve/causes.hpp"
#include "timeline/solve/path_shares.hpp"

namespace heddle::detail {

/// Returns a few sentences: the first cause, if there is one, then the main reason for the length
/// of the critical path, with a remedy.
std::string headline(const Trace& trace, const Solution& solution, const PathShares& path,
                     const std::vector<Cause>& causes);
/// Returns the same. Computes the causes and the path itself.
std::string headline(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
