// Queries the driver for the progress of streams, for the watch (docs/adr/0051).
#pragma once

#include <chrono>

namespace heddle::detail::cu {

/// Queries the driver about all streams that may have pending work, and notes the completed work.
/// Uses a separate thread, because a call into the driver may wait for another call. Returns for
/// how long a request has been unanswered, or 0 if the driver answered within `patience`. Throws if
/// out of memory. Thread-safe.
std::chrono::nanoseconds ask_driver(std::chrono::nanoseconds patience);

/// Forgets the thread. Call in the child of a fork().
void forget_probe() noexcept;

}  // namespace heddle::detail::cu
