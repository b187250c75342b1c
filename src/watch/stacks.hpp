// Stacks of other threads of this process.
#pragma once

#include <string>
#include <vector>

namespace heddle::detail {

/// Loads what stacks need, and takes a signal for them that the program does not use. Call it once,
/// before any stack is wanted.
void prepare_stacks() noexcept;

/// Returns whether a signal was found for them.
bool has_stacks() noexcept;

/// Returns a thread's stack, innermost frame first: "Relax::operator()+0x1c (solver)". Sends the
/// thread a signal, and waits for its answer a quarter of a second at most; the same for the names.
/// Returns nothing if it does not answer. One thread at a time may call it. The signal makes calls
/// that the thread is in, as poll(), fail with EINTR.
std::vector<std::string> stack_of(int thread);

/// Sets a handler if the signal has none. Returns whether it did.
bool take_unused_signal(int signal, void (*handler)(int)) noexcept;

/// Returns the name of a thread of this process, "heddle-0" for example.
std::string name_of_thread(int thread);

}  // namespace heddle::detail
