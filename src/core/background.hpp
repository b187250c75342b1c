// Threads of heddle's own for what takes long and belongs to no stream: compiling, and waiting for idle devices. They end with
// the process: exit() waits for the job that runs, and drops those that have not begun.
#pragma once

#include <functional>

namespace heddle::detail {

/// Runs the job on a thread of a few. It must not throw. A job that is dropped is destroyed without having run.
void in_background(std::function<void()> job);

/// Calls `poll` now and then, on one thread for all, until it says true. It must not throw nor block for long.
void poll_in_background(std::function<bool()> poll);

/// Libraries that the jobs use are to be taken down after them: call this again after each one was loaded.
void end_background_at_exit() noexcept;

}  // namespace heddle::detail
