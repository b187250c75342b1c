// Time that passes only while no thread of the process can run. Whatever is decided by how long
// things take is decided by it, so that it comes out the same on any machine.
#pragma once

#include <chrono>
#include <string>

namespace heddle_test::virtual_time {

using std::chrono::milliseconds;

/// Virtual time advances in steps of so much: all waits are rounded up to it.
constexpr milliseconds step{5};

/// Returns why there is none on this machine, or "".
std::string reason_not();

/// Makes it the process's clock for decisions (core/base/clock.hpp), for good. Time begins at 0.
/// Call it before the process has other threads: they would not be seen. The child of a fork has a
/// time of its own, which begins at that of the parent; call begin() first there, too.
///
/// While every thread waits for another one, that is in a futex, time advances to the end of the
/// first wait that has one. A thread that sleeps for a real time, reads a pipe or waits for a
/// process counts as one that runs.
void begin();

/// Returns how long ago begin() was called. Thread-safe, like the others.
milliseconds now();
/// Blocks the calling thread.
void sleep(milliseconds duration);
/// Lets time pass at once, as it does for a process that is stopped and goes on.
void jump(milliseconds duration);

}  // namespace heddle_test::virtual_time
