// The one thing that a reader should know first.
#pragma once

#include <string>
#include <vector>

#include "timeline/solve/causes.hpp"
#include "timeline/solve/path_shares.hpp"

namespace heddle::detail {

/// Returns some sentences: the first cause, if there is one, then the biggest reason for the time
/// that the critical path took, and what may be done about it.
std::string headline(const Trace& trace, const Solution& solution, const PathShares& path,
                     const std::vector<Cause>& causes);
/// The same from the beginning.
std::string headline(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
