// The arrows of Chrome's trace format, chosen and placed.
#pragma once

#include <cstddef>
#include <vector>

#include "timeline/file/chrome_rows.hpp"
#include "timeline/file/host_slices.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// From within the slice that was waited for to within the one that waited. A viewer draws it from
/// the end of the one to the start of the other.
struct ChromeFlow {
    TraceIndex arrow = 0;  ///< index in Solution::arrows
    ChromeRow from, to;
    Moment from_moment = 0, to_moment = 0;  ///< the second one is not earlier
};

struct ChromeFlows {
    std::vector<ChromeFlow> all;
    std::size_t left_out = 0;  ///< arrows
};

/// More than this many flows stop viewers: Perfetto's for minutes (google/perfetto #1004, #3224).
inline constexpr std::size_t most_flows = 50'000;

/// Takes all arrows if they are at most `most`, else those that held something up, of these the
/// ones that did it longest. Leaves out arrows without a slice at both ends.
ChromeFlows chrome_flows(const Trace& trace, const Solution& solution,
                         const std::vector<HostSlice>& host, const ChromeRows& rows,
                         std::size_t most = most_flows);

}  // namespace heddle::detail
