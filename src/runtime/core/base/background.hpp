// heddle's own threads for long work that belongs to no stream, such as compiling or waiting until
// a device is idle. The threads end with the process: exit() waits for running jobs and drops jobs
// that have not begun.
#pragma once

#include <functional>

namespace heddle::detail {

/// Runs the job on one of at most eight threads. The job must not throw. A job that is dropped is
/// destroyed without having run. Thread-safe.
void in_background(std::function<void()> job);

/// Calls `poll` repeatedly, on one thread that all polls share, until it returns true. `poll` must
/// not throw and must not block for long. Thread-safe.
void poll_in_background(std::function<bool()> poll);

/// Registers a function that ends another thread of the library. exit() calls the function before
/// it ends the threads of jobs. A second registration replaces the first. Throws std::bad_alloc.
void end_with_background(void (*end)() noexcept);

/// Registers an atexit() handler that ends the threads. Call it again after loading a library that
/// jobs use, so that the threads end before the library is torn down.
void end_background_at_exit() noexcept;

}  // namespace heddle::detail
