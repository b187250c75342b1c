// Checks that the parts of a trace fit together.
#pragma once

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Throws BadTrace (timeline/trace_columns.hpp) if an index leads nowhere, an enumerator has no
/// name, a moment is more than 70 years away, or nodes of a graph precede each other in a circle.
/// After it, no reader of the trace needs to check any of that.
void check_trace(const Trace& trace);

}  // namespace heddle::detail
