// The timeline in Chrome's trace format, for ui.perfetto.dev and chrome://tracing.
#pragma once

#include <iosfwd>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// Writes the trace and what follows from it as JSON. Times are microseconds with three decimals
/// since the first moment shown, which `baseTimeNanoseconds` has as nanoseconds since 1970. Errors
/// are the stream's.
///
/// The processes are the host and each device. A stream's row is followed by one with its idle
/// stretches: slices that are named by their reason, so that a query can add them up and a click
/// shows the cause. As counters they would have neither; on the stream's own row they would pass
/// for work.
void write_chrome_json(std::ostream& to, const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
