// Extracts a time span from a recording.
#pragma once

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns the part of the recording that overlaps the time span from `from` to `to`. It contains:
/// - Operations that ran or were called in the time span. If a call or a run is wholly outside,
///   its times become unknown. So work that was enqueued long before does not widen the picture.
/// - Operations without times, such as waits and records, next to an operation that ran in
///   the time span. They show why that operation was delayed.
/// - Runs of nodes and ranges in the time span.
///
/// Moments and indices of tables keep their meaning. `begin` and `end` become the bounds of the
/// time span, clipped to the recording. Accesses that are no longer used are left out.
Trace cut(const Trace& trace, Moment from, Moment to);

}  // namespace heddle::detail
