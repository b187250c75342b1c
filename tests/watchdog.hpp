// Diagnostics for tests that hang.
#pragma once

namespace heddle_test {

/// Writes the call stack of every thread of this process to standard error. Only for a process that
/// is about to end: SIGUSR2 interrupts every thread wherever it is.
void print_all_stacks();

/// Gives the present test case its whole time limit once more. For one that does many things, of
/// which none may hang.
void note_progress();

}  // namespace heddle_test
