#pragma once

// Handles SIGINT and SIGTERM.

#include <atomic>

namespace heddle::tool {

/// Installs the handlers, and returns a value that is 0 at first. The first SIGINT or SIGTERM sets
/// the value to the signal's number. A second signal ends the program as usual. If a signal was
/// ignored when the program started, it stays ignored.
const std::atomic<int>& catch_interrupts();

}  // namespace heddle::tool
