// Causes of slowness that can be fixed in a program's source, as the critical path shows them.
#pragma once

#include <string>
#include <vector>

#include "timeline/solve/host_activity.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::detail {

struct Cause {
    enum class Kind : std::uint8_t {
        host_waits,  ///< the host waits before it launches more work
        enqueuing,   ///< enqueuing and starting operations takes over half as long as running them
        pageable_copies,  ///< the host takes part in copies
        needless_waits,   ///< streams wait for other streams with which they share no memory
        broad_waits,      ///< streams wait for more work than they need
        one_stream,       ///< independent operations run one after the other on a stream
        turns,            ///< copies wait for kernels, and kernels for copies, in turns
        count_
    };
    Kind kind = Kind::host_waits;
    Moment time = 0;          ///< time that it costs on the critical path
    std::uint64_t count = 0;  ///< number of occurrences
    /// An operation at the place that costs most time. Depending on `kind`, it is a host wait, an
    /// enqueuing call, a pageable copy or a stream's wait. For one_stream, one of the stream's
    /// operations.
    TraceIndex op = no_index;
    TraceIndex needed = no_index;  ///< broad waits: the last operation that the stream needs
};

/// Returns the causes that repeat and take up much of the critical path, the largest first.
std::vector<Cause> find_causes(const Trace& trace, const Solution& solution,
                               const HostActivity& host);

/// Returns one or two sentences that name the cause, its place, and a remedy.
std::string cause_text(const Trace& trace, const Cause& cause, Moment whole);

}  // namespace heddle::detail
