// Stacks of other threads of this process.
#pragma once

#include <string>
#include <vector>

namespace heddle::detail {

/// Loads the library for stacks, and reserves a signal that the program does not use. Call once,
/// before the first stack_of().
void prepare_stacks() noexcept;

/// Returns whether a signal is reserved.
bool has_stacks() noexcept;

/// Returns a thread's stack, innermost frame first, for example "Relax::operator()+0x1c (solver)".
/// Sends the thread a signal. Waits up to 250 ms for its answer, then up to 250 ms for the names.
/// Returns an empty stack if the thread does not answer. The signal may interrupt a blocking call
/// of the thread, such as poll(), with EINTR. Not thread-safe.
std::vector<std::string> stack_of(int thread);

/// Installs the handler if the signal has its default action. Returns whether the handler was
/// installed.
bool take_unused_signal(int signal, void (*handler)(int)) noexcept;

/// Returns the name of a thread of this process, for example "heddle-0".
std::string name_of_thread(int thread);

}  // namespace heddle::detail
