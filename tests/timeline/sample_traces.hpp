// Traces for tests: one that is valid and otherwise arbitrary, and one as a program makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "random.hpp"
#include "timeline/trace.hpp"

namespace heddle_test {

/// Fills every field with something, within what a trace may hold.
heddle::detail::Trace random_trace(Random& random, std::size_t ops);

/// Calls, ranges, operations and graphs that overlap in all ways on few rows, with times of a few
/// nanoseconds.
heddle::detail::Trace crowded_trace(Random& random, std::size_t ops);

/// A program's steps: copies to the device, kernels on two streams with events between them, and
/// copies back, from a loop. The host is ahead of the devices; all times are in order.
heddle::detail::Trace trace_of_steps(std::size_t ops);

}  // namespace heddle_test
