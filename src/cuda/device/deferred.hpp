// Chores: cleanup of heddle's own that cannot be done at once, and its retries.
#pragma once

#include <functional>

#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Defers an action that is impossible now: in a callback, or while a capture is in its way.
/// do_chores() and a background thread retry it, so that it runs soon whatever the program calls.
void defer(Gpu& g, std::function<void()> action);
/// Call with chores_mutex held, after changing what it guards. Updates the counter, and starts the
/// background retries if they are needed.
void note_chores(Gpu& g) noexcept;
/// Recycles closed streams whose work is done, frees memory whose users are done, and retries
/// deferred actions.
void do_chores_now(Gpu& g) noexcept;
inline void do_chores(Gpu& g) noexcept {
    if (g.chores.load(std::memory_order_relaxed) != 0) [[unlikely]]
        do_chores_now(g);
}
/// The same until nothing more can be done.
void finish_chores(Gpu& g) noexcept;

}  // namespace heddle::detail::cu
