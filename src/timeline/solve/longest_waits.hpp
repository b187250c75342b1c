// Finds the waits that took longest.
#pragma once

#include <string>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// The waits of one stream or one thread, at one place in the source, for operations of one other
/// place.
struct WaitShare {
    TraceIndex wait = no_index;  ///< the longest wait
    /// The operation that `wait` waited for; no_index if it is outside the recording.
    TraceIndex from = no_index;
    bool is_host = false;
    Moment time = 0, longest = 0;
    std::uint64_t count = 0;
};

/// Returns the `most` groups with the longest total time, the longest first. Counts only the time
/// in which the wait alone held up the stream or the host.
std::vector<WaitShare> longest_waits(const Trace& trace, const Solution& solution,
                                     std::size_t most);

/// Returns the groups as text, two or three lines each.
std::string text_of_waits(const Trace& trace, const std::vector<WaitShare>& waits);

}  // namespace heddle::detail
