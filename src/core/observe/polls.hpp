// Queries that a thread repeats until they answer "complete": a host wait that the program makes
// itself.
#pragma once

#include <heddle/observe/observer.hpp>

namespace heddle::detail {

/// Forgets the polls of all threads, because the observers change: an observer gets no poll that
/// began before it was added. Thread-safe.
void forget_polls() noexcept;
/// Notes that a query answered "not yet". `asked` describes the query: its target, and its place in
/// the program.
void note_pending(const OpInfo& asked) noexcept;
/// Reports to observers how long the thread has polled before this query answered "complete". Has
/// no effect if it has not polled.
void tell_polled(const OpInfo& asked) noexcept;
/// Ends all polls of this thread, because it continues with other work. Costs one load if there are
/// none.
void end_polls() noexcept;

}  // namespace heddle::detail
