// Finds copies of pageable memory, in which the host takes part.
#pragma once

#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns for each operation whether it is a copy of pageable memory. It is one if the same thread
/// then records a host access to the memory at the same place in the source.
std::vector<bool> find_pageable_copies(const Trace& trace);

}  // namespace heddle::detail
