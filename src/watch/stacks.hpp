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

/// Returns a thread's stack, innermost frame first: "Relax::operator()+0x1c (solver)". Sends the
/// thread a signal and waits up to 250 ms for its answer, then up to 250 ms for the names. Returns
/// an empty stack if the thread does not answer. Not thread-safe. Calls that the thread is in, such
/// as poll(), can fail with EINTR because of the signal.
std::vector<std::string> stack_of(int thread);

/// Installs a handler if the signal has the default action. Returns whether it did.
bool take_unused_signal(int signal, void (*handler)(int)) noexcept;

/// Returns the name of a thread of this process, for example "heddle-0".
std::string name_of_thread(int thread);

}  // namespace heddle::detail
