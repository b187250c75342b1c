// Which recorded operations never ran, because their batch was abandoned.
#pragma once

#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns for each operation whether a batch recorded it that was abandoned before it was sent.
std::vector<bool> abandoned_ops(const Trace& trace);

}  // namespace heddle::detail
