// Detects polling: a query that a thread repeats until the answer is "complete" counts as a host
// wait.
#pragma once

#include <heddle/operation/observer.hpp>

namespace heddle::detail {

/// Removes the polls of all threads. Called when the observers change, because an observer receives
/// no poll that began before it was added. Thread-safe.
void forget_polls() noexcept;
/// Records that a query answered "not yet". `asked` describes the query's target and its place in
/// the program.
void note_pending(const OpInfo& asked) noexcept;
/// Reports to observers how long the thread polled before this query answered "complete". Has no
/// effect if the thread has not polled.
void tell_polled(const OpInfo& asked) noexcept;
/// Ends all polls of this thread. Called when the thread continues with other work. Costs one load
/// if there are none.
void end_polls() noexcept;

}  // namespace heddle::detail
