// Traces for tests: one that is valid but arbitrary, and one that is typical of programs.
#pragma once

#include <cstddef>

#include "random.hpp"
#include "timeline/trace.hpp"

namespace heddle_test {

/// Returns a valid trace in which all fields are set.
heddle::detail::Trace random_trace(Random& random, std::size_t ops);

/// Returns a trace in which calls, ranges, operations and graphs overlap in all ways on a few rows.
/// Times are a few nanoseconds.
heddle::detail::Trace crowded_trace(Random& random, std::size_t ops);

/// Returns the trace of a loop. Each step copies to the device, runs kernels on two streams with
/// events between them, and copies back. The host is ahead of the devices. All times are in order.
heddle::detail::Trace trace_of_steps(std::size_t ops);

}  // namespace heddle_test
