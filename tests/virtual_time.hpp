// Time that passes only while no thread of the process can run. All decisions that depend on time
// use it, so that they are the same on any machine.
#pragma once

#include <chrono>
#include <string>

namespace heddle_test::virtual_time {

using std::chrono::milliseconds;

/// The step of virtual time: all waits are rounded up to a multiple.
constexpr milliseconds step{5};

/// Returns why virtual time is unavailable on this machine, or "".
std::string reason_not();

/// Replaces the process's clock for decisions (core/base/clock.hpp) permanently. Time begins at 0.
/// Call before the process has other threads: they would not count. The child of a fork has its
/// own time, which begins at that of the parent. Call begin() first in the child, too.
///
/// While every thread waits for another one in a futex, time advances to the end of the first timed
/// wait. A thread that sleeps for a real time, reads a pipe or waits for a process counts as
/// running.
void begin();

/// Returns the virtual time since begin() was called. Thread-safe, like the other functions.
milliseconds now();
/// Blocks the calling thread.
void sleep(milliseconds duration);
/// Advances time at once, as for a process that is stopped and continued.
void jump(milliseconds duration);

}  // namespace heddle_test::virtual_time
