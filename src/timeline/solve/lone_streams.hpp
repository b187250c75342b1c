// Streams on which independent work follows one another.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

struct LoneStream {
    TraceIndex op = no_index;      ///< the first of its operations
    Moment time = 0;               ///< how much less they would take on streams of their own
    std::uint64_t operations = 0;  ///< that ran on it
};

/// Returns the streams on which most of the critical path is, and whose operations would take less
/// time if they were ordered by the memory that they use alone, on as many streams as they need.
///
/// Operations keep their order around others whose memory is not known, around waits for other
/// streams, and around host waits. CPU devices have their workers; of a CUDA device it is not known
/// how many kernels fit, so that only a copy and a kernel count as independent there.
std::vector<LoneStream> find_lone_streams(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
