// Cleanups by heddle itself that cannot be done immediately and is retried.
#pragma once

#include <functional>

#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Defers an action that is not allowed now (in a callback or during a capture). run_cleanups() and
/// a background thread try it again: it runs soon even if the program makes no calls.
void defer(Gpu& g, std::function<void()> action);
/// Updates the number of cleanups, and starts background retries if they are needed. Call with
/// cleanups_mutex held, after each change of a list that cleanups_mutex guards.
void note_cleanups(Gpu& g) noexcept;
/// Recycles closed streams whose work is done, frees memory whose users are done, and retries
/// deferred actions. (process/cleanups.cpp)
void run_cleanups_now(Gpu& g) noexcept;
inline void run_cleanups(Gpu& g) noexcept {
    if (g.cleanups.load(std::memory_order_relaxed) != 0) [[unlikely]]
        run_cleanups_now(g);
}
/// Repeats run_cleanups() until no cleanup can be finished.
void finish_cleanups(Gpu& g) noexcept;

}  // namespace heddle::detail::cu
