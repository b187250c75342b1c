// Diagnostics for tests that hang.
#pragma once

namespace heddle_test {

/// Writes the call stack of every thread of this process to standard error. Only for a process that
/// is about to end: SIGUSR2 interrupts every thread wherever it is.
void print_all_stacks();

}  // namespace heddle_test
