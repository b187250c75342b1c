// The one thing that a reader should know first.
#pragma once

#include <string>

#include "timeline/solve/path_shares.hpp"

namespace heddle::detail {

/// Returns some sentences that name the biggest reason for the time that the critical path took,
/// and what may be done about it.
std::string headline(const Trace& trace, const Solution& solution, const PathShares& path);

}  // namespace heddle::detail
