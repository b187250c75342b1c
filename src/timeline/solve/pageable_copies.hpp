// Copies of pageable memory, in which the host takes part.
#pragma once

#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns for each operation whether it is one. The host's own access to the memory, of the same
/// thread and place, follows such a copy.
std::vector<bool> find_pageable_copies(const Trace& trace);

}  // namespace heddle::detail
