// Asks the driver how far streams have come, for the watch (docs/adr/0051).
#pragma once

#include <chrono>

namespace heddle::detail::cu {

/// Asks the driver about all streams with work that is not known to have completed, and notes what
/// has. That is done by a thread of its own, because a call into the driver may wait for another
/// one. Returns how long the driver has been silent: 0 if it has answered within `patience`.
/// Throws if there is no memory. Thread-safe.
std::chrono::nanoseconds ask_driver(std::chrono::nanoseconds patience);

/// For the child of a fork().
void forget_probe() noexcept;

}  // namespace heddle::detail::cu
