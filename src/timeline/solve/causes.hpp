// What makes a program slow that can be mended in its source: habits that the critical path shows.
#pragma once

#include <string>
#include <vector>

#include "timeline/solve/host_activity.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::detail {

struct Cause {
    enum class Kind : std::uint8_t {
        host_waits,       ///< the host waits before it launches more
        enqueuing,        ///< operations cost the host or the device more than they run
        pageable_copies,  ///< the host takes part in copies
        needless_waits,   ///< of streams for others with which they share no memory
        broad_waits,      ///< of streams for more than they need
        one_stream,       ///< work that nothing orders follows one another on a stream
        turns,            ///< copies wait for kernels, and kernels for copies
        count_
    };
    Kind kind = Kind::host_waits;
    Moment time = 0;          ///< of the critical path
    std::uint64_t count = 0;  ///< how often it is there
    /// The host wait, call, copy or wait of the place that took longest; of one stream, one of its
    /// operations.
    TraceIndex op = no_index;
    TraceIndex needed = no_index;  ///< broad waits: the last operation that is needed
};

/// Returns what makes up much of the critical path and repeats, the largest first.
std::vector<Cause> find_causes(const Trace& trace, const Solution& solution,
                               const HostActivity& host);

/// Returns a sentence or two that name the cause, its place, and what helps.
std::string cause_text(const Trace& trace, const Cause& cause, Moment whole);

}  // namespace heddle::detail
