// Finds streams on which independent operations run one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

struct LoneStream {
    TraceIndex op = no_index;      ///< the first of its operations
    Moment time = 0;               ///< time that the operations would save on separate streams
    std::uint64_t operations = 0;  ///< number of operations that ran on it
};

/// Returns the streams that hold more than half of the critical path, if their operations could
/// take less time. The estimate orders operations only by their memory, on as many streams as they
/// need.
///
/// Operations keep their order around operations with unknown memory, waits for other streams, and
/// host waits. A CPU device runs as much at once as its workers allow. How many kernels fit on a
/// CUDA device is unknown: only a copy and a kernel count as independent there.
std::vector<LoneStream> find_lone_streams(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
