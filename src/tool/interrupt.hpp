#pragma once

// Ctrl-C, asked for politely.

#include <atomic>

namespace heddle::tool {

/// From now on the first SIGINT or SIGTERM only sets the result (0 before) to its number; a second one ends
/// the program as usual. Signals that the program was started with ignored stay so.
const std::atomic<int>& catch_interrupts();

}  // namespace heddle::tool
