// Queries the driver for the progress of streams, for the watch (docs/adr/0051).
#pragma once

#include <chrono>

namespace heddle::detail::cu {

/// Queries the driver about all streams that may have pending work, and records which work has
/// completed. Uses a separate thread, because a call into the driver may block for a long time.
/// Returns 0 if the driver answered within `patience`; otherwise returns how long the oldest
/// request has been unanswered. Throws if out of memory. Thread-safe.
std::chrono::nanoseconds ask_driver(std::chrono::nanoseconds patience);

/// Forgets the thread, which does not exist in the child of a fork(). Call in the child.
void forget_probe() noexcept;

}  // namespace heddle::detail::cu
