// Finds streams that run independent operations one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

struct LoneStream {
    TraceIndex op = no_index;  ///< the stream's first operation
    /// The time that its operations would save if they used separate streams.
    Moment time = 0;
    std::uint64_t operations = 0;  ///< number of operations that ran on it
};

/// Returns streams that have more than half of the critical path, and whose operations could take
/// less time. The estimate assumes as many streams as necessary, and operations that are ordered
/// only by their memory.
///
/// Some order is always kept: around operations with unknown memory, waits for other streams, and
/// host waits. On a CPU device, as many operations run at once as there are workers. For a CUDA
/// device, the number of kernels that fit is unknown. So only a copy and a kernel may overlap
/// there.
std::vector<LoneStream> find_lone_streams(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
