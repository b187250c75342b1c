// Diagnostics for tests that hang.
#pragma once

namespace heddle_test {

/// Writes the call stack of each thread of this process to standard error. Use it only if the
/// process is about to end, because SIGUSR2 interrupts the threads at arbitrary points.
void print_all_stacks();

/// Restarts the time limit of the current test case. Use it in a test case that has many parts,
/// none of which may hang.
void note_progress();

}  // namespace heddle_test
