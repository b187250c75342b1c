// Chores: cleanup by heddle itself that cannot be done immediately and is retried.
#pragma once

#include <functional>

#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Defers an action that is not allowed now (in a callback or during a capture). do_chores() and a
/// background thread try it again: it runs soon even if the program makes no calls.
void defer(Gpu& g, std::function<void()> action);
/// Updates the number of chores, and starts background retries if they are needed. Call with
/// chores_mutex held, after each change of a list that chores_mutex guards.
void note_chores(Gpu& g) noexcept;
/// Recycles closed streams whose work is done, frees memory whose users are done, and retries
/// deferred actions. (process/chores.cpp)
void do_chores_now(Gpu& g) noexcept;
inline void do_chores(Gpu& g) noexcept {
    if (g.chores.load(std::memory_order_relaxed) != 0) [[unlikely]]
        do_chores_now(g);
}
/// Repeats do_chores() until no chore can be finished.
void finish_chores(Gpu& g) noexcept;

}  // namespace heddle::detail::cu
