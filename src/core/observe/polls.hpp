// Queries that a thread repeats until they answer "complete": a host wait that the program makes
// itself.
#pragma once

#include <heddle/observe/observer.hpp>

namespace heddle::detail {

/// Forgets the polls of all threads, because the observers change: one is told of no poll that
/// began before it was added. Thread-safe.
void forget_polls() noexcept;
/// Notes that a query answered "not yet". `asked` describes the query: what it asked for, and where
/// it was made.
void note_pending(const OpInfo& asked) noexcept;
/// Tells observers how long the thread has asked in vain before this query answered "complete", if
/// it has.
void tell_polled(const OpInfo& asked) noexcept;
/// Ends all polls of this thread, because it does other things now. Costs one load if there are
/// none.
void end_polls() noexcept;

}  // namespace heddle::detail
