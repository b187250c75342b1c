// Finds copies of pageable memory. The host takes part in them.
#pragma once

#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns for each operation whether it is a copy of pageable memory. After such a copy, the same
/// thread records an access by the host, with the same memory and source line.
std::vector<bool> find_pageable_copies(const Trace& trace);

}  // namespace heddle::detail
