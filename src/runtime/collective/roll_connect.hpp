// Connects a rank to the process that holds its roll call.
#pragma once

#include <chrono>
#include <string>

#include "collective/roll_address.hpp"
#include "collective/roll_socket.hpp"

namespace heddle::detail {

using RollClock = std::chrono::steady_clock;

/// Returns the time at which a limit that begins now has passed. A limit of 0 is none.
RollClock::time_point end_of_limit(std::chrono::milliseconds limit);

/// Connects to all addresses at once, and returns the first connection at whose other end this roll
/// call is known. (Different hosts may have the same address, for a bridge between containers for
/// example.) Returns no socket if every address fails or the time is over. Then `problem` is the
/// reason, and `code` the last errno, or 0.
RollSocket connect_roll_call(const RollAddress& address, RollClock::time_point until,
                             std::string& problem, int& code);

}  // namespace heddle::detail
