// The timeline in Chrome's trace format, for ui.perfetto.dev and chrome://tracing.
#pragma once

#include <iosfwd>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// Writes the trace and its solution as JSON. Times are in microseconds with three decimals,
/// relative to the first moment shown. `baseTimeNanoseconds` is that first moment, in ns since
/// 1970. If writing fails, the state of the stream `to` shows the failure.
///
/// The processes are the host and each device. Below each stream's row, a second row shows when the
/// stream was idle. Each idle stretch is a slice named after its reason, so a query can sum up
/// slices, and a click on a slice shows its cause. Counters would allow neither. Slices on the
/// stream's own row would look like work.
void write_chrome_json(std::ostream& to, const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
