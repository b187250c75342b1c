// A stretch of a recording.
#pragma once

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns what overlaps the stretch from `from` to `to`:
/// - operations that ran or were called then. The times of a call or a run that is wholly outside
///   become unknown: work that the host enqueued long before does not stretch the picture.
/// - waits, records and other operations without times that are next to one that ran then, as they
///   say what held it up;
/// - runs of nodes and ranges.
///
/// Moments and tables keep their meaning; `begin` and `end` become those of the stretch, as far as
/// it was recorded. Accesses that are used no more are left out.
Trace cut(const Trace& trace, Moment from, Moment to);

}  // namespace heddle::detail
