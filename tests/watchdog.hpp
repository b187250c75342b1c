// What a test that hangs leaves behind.
#pragma once

namespace heddle_test {

/// Writes the call stack of every thread of this process to standard error. For a process that is about to end: threads
/// are interrupted by SIGUSR2 wherever they are.
void print_all_stacks();

}  // namespace heddle_test
