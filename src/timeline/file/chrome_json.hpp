// The timeline in Chrome's trace format, for ui.perfetto.dev and chrome://tracing.
#pragma once

#include <iosfwd>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// Writes the trace and its solution as JSON. Times are in microseconds, with three decimals, since
/// the first moment shown. `baseTimeNanoseconds` is that moment in nanoseconds since 1970. Errors
/// are reported by the state of the stream `to`.
///
/// The processes are the host and each device. Each stream's row is followed by a row with its idle
/// stretches, as slices that are named by their reason. A query can add them up, and a click shows
/// the cause. Counters would allow neither. On the stream's own row they would look like work.
void write_chrome_json(std::ostream& to, const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
