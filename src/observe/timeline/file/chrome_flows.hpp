// Selects and places the arrows of Chrome's trace format.
#pragma once

#include <cstddef>
#include <vector>

#include "timeline/file/chrome_rows.hpp"
#include "timeline/file/host_slices.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// An arrow from the slice of the awaited operation to the slice that waited for it. Viewers draw
/// it from the end of the first slice to the start of the second.
struct ChromeFlow {
    TraceIndex arrow = 0;  ///< index in Solution::arrows
    ChromeRow from, to;
    Moment from_moment = 0, to_moment = 0;  ///< `to_moment` is not before `from_moment`
};

struct ChromeFlows {
    std::vector<ChromeFlow> all;
    std::size_t left_out = 0;  ///< number of arrows that are not shown
};

/// With more flows than this, viewers freeze. Perfetto then freezes for minutes (google/perfetto
/// #1004, #3224).
inline constexpr std::size_t most_flows = 50'000;

/// Selects all arrows if there are at most `most`. Otherwise considers only arrows whose wait held
/// up an operation, and selects the `most` arrows with the longest delays. Leaves out arrows that
/// lack a slice at one end.
ChromeFlows chrome_flows(const Trace& trace, const Solution& solution,
                         const std::vector<HostSlice>& host, const ChromeRows& rows,
                         std::size_t most = most_flows);

}  // namespace heddle::detail
