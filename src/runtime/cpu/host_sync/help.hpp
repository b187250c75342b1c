// Threads that wait for CPU streams run the ready work that is ordered before the end of the wait.
#pragma once

#include "core/seam/completion.hpp"

namespace heddle::detail::cpu {

/// Blocks until `done` completes. Until then, the calling thread runs ready work of CPU streams
/// that is ordered before `done`.
void wait_for(Completion& done);

}  // namespace heddle::detail::cpu
