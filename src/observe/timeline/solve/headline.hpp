// The first sentences of a summary.
#pragma once

#include <string>
#include <vector>

#include "timeline/solve/causes.hpp"
#include "timeline/solve/path_shares.hpp"

namespace heddle::detail {

/// Returns a few sentences. First they name the main cause, if there is one. Then they name the
/// main reason for the length of the critical path, with a remedy.
std::string headline(const Trace& trace, const Solution& solution, const PathShares& path,
                     const std::vector<Cause>& causes);
/// Returns the same sentences. Computes the causes and the path itself.
std::string headline(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
