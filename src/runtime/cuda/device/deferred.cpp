#include "cuda/device/deferred.hpp"

#include <mutex>
#include <new>

#include "core/base/background.hpp"
#include "core/base/report.hpp"
#include "cuda/device/context.hpp"
#include <heddle/error.hpp>

namespace heddle::detail::cu {

namespace {
/// Returns the number of chores that the background thread retries. Call with chores_mutex held.
std::size_t polled_chores(const Gpu& g) noexcept {
    return g.deferred.size() + g.later_frees.size() + g.doomed.size();
}
}  // namespace

void note_chores(Gpu& g) noexcept {
    g.chores.store(g.zombies.size() + polled_chores(g), std::memory_order_relaxed);
    if (g.is_polled || polled_chores(g) == 0) return;
    // The background thread is needed because the program may run for a long time without a call
    // that does chores.
    try {
        static std::once_flag once;
        std::call_once(once, end_background_at_exit);
        poll_in_background([&g] {
            do_chores_now(g);
            const std::lock_guard lock(g.chores_mutex);
            g.is_polled = polled_chores(g) != 0;
            return !g.is_polled;
        });
        g.is_polled = true;
    } catch (...) {
        // out of memory or no thread: only do_chores() retries
    }
}

void defer(Gpu& g, std::function<void()> action) {
    std::lock_guard lock(g.chores_mutex);
    g.deferred.push_back(std::move(action));
    note_chores(g);
}

void finish_chores(Gpu& g) noexcept {
    const auto left = [&g] { return g.chores.load(std::memory_order_relaxed); };
    for (std::size_t before = left(); before != 0;) {
        do_chores_now(g);
        if (left() >= before) return;
        before = left();
    }
}

}  // namespace heddle::detail::cu
