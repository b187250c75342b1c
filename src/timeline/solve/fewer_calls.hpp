// What makes a program call heddle less often.
#pragma once

#include <string>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns a sentence that says what helps against many calls such as the one that enqueued `op`.
std::string fewer_calls_text(const Trace& trace, TraceIndex op);
/// The same for the calls of which the trace has most, by time.
std::string fewer_calls_text(const Trace& trace);

}  // namespace heddle::detail
