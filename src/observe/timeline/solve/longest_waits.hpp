// Finds the waits that took longest.
#pragma once

#include <string>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// A group of waits of the same stream or thread with the same source line. The operations that
/// they wait for have one source line, too.
struct WaitShare {
    TraceIndex wait = no_index;  ///< the longest wait of the group
    /// The operation that `wait` waited for. no_index if the recording does not contain it.
    TraceIndex from = no_index;
    bool is_host = false;
    Moment time = 0, longest = 0;
    std::uint64_t count = 0;
};

/// Returns the `most` groups with the longest total time, in descending order. Counts only the time
/// in which just the wait held up the stream or the host.
std::vector<WaitShare> longest_waits(const Trace& trace, const Solution& solution,
                                     std::size_t most);

/// Describes the groups in two or three lines each.
std::string text_of_waits(const Trace& trace, const std::vector<WaitShare>& waits);

}  // namespace heddle::detail
