// Diagnostics for tests that hang.
#pragma once

namespace heddle_test {

/// Writes the call stack of every thread of this process to standard error. Only for a process that
/// is about to end: SIGUSR2 interrupts every thread at any point.
void print_all_stacks();

/// Restarts the time limit of the current test case. Use it in a test case with many parts, each
/// of which must not hang.
void note_progress();

}  // namespace heddle_test
