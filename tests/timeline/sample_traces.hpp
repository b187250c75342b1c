// Traces for tests: one that is valid and otherwise arbitrary, and one typical of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "random.hpp"
#include "timeline/trace.hpp"

namespace heddle_test {

/// Returns a trace with all fields filled, within the limits of a trace.
heddle::detail::Trace random_trace(Random& random, std::size_t ops);

/// Returns calls, ranges, operations and graphs that overlap in all ways on few rows. Times are a
/// few nanoseconds.
heddle::detail::Trace crowded_trace(Random& random, std::size_t ops);

/// Returns the steps of a program: in a loop, copies to the device, kernels on two streams with
/// events between them, and copies back. The host is ahead of the devices; all times are in order.
heddle::detail::Trace trace_of_steps(std::size_t ops);

}  // namespace heddle_test
