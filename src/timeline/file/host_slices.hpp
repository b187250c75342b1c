// Activity of the host's threads: calls of the library and the program's named ranges, in lanes
// within which they nest.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

struct HostSlice {
    TraceIndex thread = 0;
    std::uint32_t lane = 0;
    Moment begin = 0, end = 0;
    TraceIndex op = no_index;     ///< operation of the call, or no_index
    TraceIndex range = no_index;  ///< index in Trace::ranges if it is a range, or no_index
    bool is_instant = false;      ///< a call that did not have to wait
};

/// Returns the slices by thread, then begin, outer slices before inner ones. Two slices of one lane
/// are nested or apart. Leaves out calls with an unknown thread or unknown times.
std::vector<HostSlice> host_slices(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
