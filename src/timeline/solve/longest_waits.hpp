// The waits that took longest.
#pragma once

#include <string>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// Waits at one place in the source for one other place, of one stream or one thread.
struct WaitShare {
    TraceIndex wait = no_index;  ///< the longest of them
    TraceIndex from = no_index;  ///< what it waited for; none: outside of the recording
    bool is_host = false;
    Moment time = 0, longest = 0;
    std::uint64_t count = 0;
};

/// Returns those that took longest together, the longest first. Counted is only the time in which
/// nothing but the wait held the stream or the host up.
std::vector<WaitShare> longest_waits(const Trace& trace, const Solution& solution,
                                     std::size_t most);

/// Returns them as text, three lines each.
std::string text_of_waits(const Trace& trace, const std::vector<WaitShare>& waits);

}  // namespace heddle::detail
