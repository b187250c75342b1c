// Advice on how a program can call heddle less often.
#pragma once

#include <string>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns advice, in one sentence, on how to avoid many calls like the one that enqueued `op`.
std::string fewer_calls_text(const Trace& trace, TraceIndex op);
/// Returns such advice for the kind of call that takes most time in the trace.
std::string fewer_calls_text(const Trace& trace);

}  // namespace heddle::detail
