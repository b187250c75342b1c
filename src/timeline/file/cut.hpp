// Extracts a time span from a recording.
#pragma once

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns the part of the recording that overlaps the time span from `from` to `to`:
/// - operations that ran or were called then. Times of a call or run that is wholly outside become
///   unknown: work that the host enqueued long before does not stretch the picture.
/// - waits, records and other operations without times next to an operation that ran then, because
///   they show the reason for its delay;
/// - runs of nodes and ranges.
///
/// Moments and indices of tables keep their meaning. `begin` and `end` become those of the time
/// span, clipped to the recording. Accesses that are no longer used are left out.
Trace cut(const Trace& trace, Moment from, Moment to);

}  // namespace heddle::detail
