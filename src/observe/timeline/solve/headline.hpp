// The first sentences of a summary.
#pragma once

#include <string>
#include <vector>

#include "timeline/solve/causes.hpp"
#include "timeline/solve/path_shares.hpp"

namespace heddle::detail {

/// Returns a few sentences. They name the main cause, if there is one, and then the main reason for
/// the length of the critical path, with a remedy.
std::string headline(const Trace& trace, const Solution& solution, const PathShares& path,
                     const std::vector<Cause>& causes);
/// Like the function above, but computes the causes and the path itself.
std::string headline(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
