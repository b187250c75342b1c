// elapsed(): the time between two events.
#pragma once

#include <chrono>
#include <ratio>

#include <heddle/stream/event.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Returns the time between two recorded timing events of one device, in milliseconds:
///
///     std::printf("%.3f ms\n", elapsed(start, end).count());
///
/// Blocks until both are complete. Throws UsageError in host functions, if an event has no timing
/// or no record, or if the events belong to different devices.
std::chrono::duration<double, std::milli> elapsed(const Event& start, const Event& end,
                                                  Where where = {});

}  // namespace heddle
