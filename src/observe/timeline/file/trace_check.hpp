// Checks that the parts of a trace are consistent.
#pragma once

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Checks a trace. Throws BadTrace (timeline/file/trace_columns.hpp) if an index is out of range,
/// an enumerator is invalid, or a moment is more than 70 years away. Also throws it if nodes of a
/// graph form a cycle. Code that uses a checked trace need not repeat these checks.
void check_trace(const Trace& trace);

}  // namespace heddle::detail
