// Finds recorded operations that never ran because their batch was abandoned.
#pragma once

#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns for each operation whether its batch was abandoned before it was submitted.
std::vector<bool> abandoned_ops(const Trace& trace);

}  // namespace heddle::detail
