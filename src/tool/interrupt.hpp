#pragma once

// Handles SIGINT and SIGTERM.

#include <atomic>

namespace heddle::tool {

/// Installs the handlers. The first SIGINT or SIGTERM sets the returned value, 0 before, to the
/// signal's number; a second one ends the program as usual. Signals that were ignored when the
/// program started stay ignored.
const std::atomic<int>& catch_interrupts();

}  // namespace heddle::tool
