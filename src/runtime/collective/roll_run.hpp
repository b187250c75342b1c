// Runs a call that may block for ever once a rank is lost.
#pragma once

#include <chrono>
#include <functional>

#include "collective/roll_call.hpp"

namespace heddle::detail {

enum class RollRun { ended, lost, late };

/// How long a call may still end by itself, with an error of its own, once a rank is lost.
inline constexpr std::chrono::milliseconds patience_after_loss = std::chrono::seconds(1);

/// Runs `call` on a thread of its own, which leaves signals to the program's threads. Returns
/// `ended` once it has returned, `lost` when a rank is lost and patience_after_loss has passed, and
/// `late` when `limit` has passed. A limit of 0 is none. After `lost` and `late` the call
/// continues, and its thread calls `undo` once it has returned. If no thread can be started, the
/// calling thread makes the call. Neither function may throw. Replaces the function of the member's
/// on_loss() by one that has no effect later.
RollRun run_unless_lost(RollMember& member, std::chrono::milliseconds limit,
                        std::function<void()> call, std::function<void()> undo);

}  // namespace heddle::detail
