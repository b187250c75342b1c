// Activity of the host's threads: calls of the library, and named ranges of the program. Slices on
// one lane are nested or disjoint.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

struct HostSlice {
    TraceIndex thread = 0;
    std::uint32_t lane = 0;
    Moment begin = 0, end = 0;
    TraceIndex op = no_index;     ///< the operation that was called, or no_index
    TraceIndex range = no_index;  ///< for a range: index in Trace::ranges; otherwise no_index
    bool is_instant = false;      ///< a call that did not have to wait
};

/// Returns the slices, sorted by thread and then by begin. An outer slice precedes the slices
/// within it. Two slices of one lane are either nested or disjoint. Leaves out calls with an
/// unknown thread or unknown times.
std::vector<HostSlice> host_slices(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
