// Time that passes only while no thread of the process can run. All decisions that depend on time
// use it, so they are the same on any machine.
#pragma once

#include <chrono>
#include <string>

namespace heddle_test::virtual_time {

using std::chrono::milliseconds;

/// The step of virtual time. All waits are rounded up to a multiple of it.
constexpr milliseconds step{5};

/// Returns why virtual time is unavailable on this machine. Returns "" if it is available.
std::string reason_not();

/// Replaces the process's clock for decisions (core/base/clock.hpp) permanently. Time begins at 0.
/// Call it before there are other threads: these are not observed. A forked child has its own time,
/// which starts from the parent's time. The child must call begin() before it has other threads.
///
/// When every thread waits for another thread in a futex, time advances to the end of the first
/// wait that has a time limit. A thread that sleeps in real time, reads a pipe or waits for a
/// process counts as running.
void begin();

/// Returns the virtual time since begin() was called. Thread-safe, like the other functions.
milliseconds now();
/// Blocks the calling thread.
void sleep(milliseconds duration);
/// Advances time at once, as if the process had been stopped and continued.
void jump(milliseconds duration);

}  // namespace heddle_test::virtual_time
