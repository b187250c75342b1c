// What threads of the host did: calls of the library and ranges that the program named, in lanes
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
    TraceIndex op = no_index;     ///< of a call
    TraceIndex range = no_index;  ///< in Trace::ranges, if it is one
    bool is_instant = false;      ///< a call that found nothing to wait for
};

/// Returns them by thread, then begin, outer ones before inner ones. Two slices of one lane are one
/// within the other, or apart. Leaves out calls whose thread or times are unknown.
std::vector<HostSlice> host_slices(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
