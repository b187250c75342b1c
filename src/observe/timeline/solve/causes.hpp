// Finds causes of slowness that can be fixed in a program's source. Uses the critical path.
#pragma once

#include <string>
#include <vector>

#include "timeline/solve/host_activity.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::detail {

struct Cause {
    enum class Kind : std::uint8_t {
        host_waits,  ///< the host waits for work before it launches more
        enqueuing,   ///< enqueuing and starting operations takes over half as long as running them
        pageable_copies,  ///< the host takes part in copies of pageable memory
        needless_waits,   ///< streams wait for other streams with which they share no memory
        broad_waits,      ///< streams wait for more work than they need
        one_stream,       ///< independent operations run one after the other on a stream
        turns,            ///< copies and kernels alternate, each waiting for the previous one
        count_
    };
    Kind kind = Kind::host_waits;
    Moment time = 0;          ///< the time that the cause costs on the critical path
    std::uint64_t count = 0;  ///< number of occurrences
    /// An operation at the source line that costs most time. Depending on `kind`, it is a host
    /// wait, a call that enqueues, a pageable copy or a wait of a stream. For one_stream, it is an
    /// operation of that stream.
    TraceIndex op = no_index;
    TraceIndex needed = no_index;  ///< for broad_waits: the last operation that the stream needs
};

/// Returns the causes that occur repeatedly and take up much of the critical path, the largest
/// first.
std::vector<Cause> find_causes(const Trace& trace, const Solution& solution,
                               const HostActivity& host);

/// Describes the cause in one or two sentences: the cause itself, its source line, and a remedy.
std::string cause_text(const Trace& trace, const Cause& cause, Moment whole);

}  // namespace heddle::detail
