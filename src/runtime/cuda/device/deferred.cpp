#include "cuda/device/deferred.hpp"

#include <mutex>
#include <new>

#include "core/base/background.hpp"
#include "core/base/report.hpp"
#include "cuda/device/context.hpp"
#include <heddle/error.hpp>

namespace heddle::detail::cu {

namespace {
/// Returns the number of cleanups that the background thread retries. Call with cleanups_mutex
/// held.
std::size_t polled_cleanups(const Gpu& g) noexcept {
    return g.deferred.size() + g.later_frees.size() + g.doomed.size();
}
}  // namespace

void note_cleanups(Gpu& g) noexcept {
    g.cleanups.store(g.zombies.size() + polled_cleanups(g), std::memory_order_relaxed);
    if (g.is_polled || polled_cleanups(g) == 0) return;
    // The background thread is needed because the program may run for a long time without a call
    // that runs cleanups.
    try {
        static std::once_flag once;
        std::call_once(once, end_background_at_exit);
        poll_in_background([&g] {
            run_cleanups_now(g);
            const std::lock_guard lock(g.cleanups_mutex);
            g.is_polled = polled_cleanups(g) != 0;
            return !g.is_polled;
        });
        g.is_polled = true;
    } catch (...) {
        // out of memory or no thread: only run_cleanups() retries
    }
}

void defer(Gpu& g, std::function<void()> action) {
    std::lock_guard lock(g.cleanups_mutex);
    g.deferred.push_back(std::move(action));
    note_cleanups(g);
}

void finish_cleanups(Gpu& g) noexcept {
    const auto left = [&g] { return g.cleanups.load(std::memory_order_relaxed); };
    for (std::size_t before = left(); before != 0;) {
        run_cleanups_now(g);
        if (left() >= before) return;
        before = left();
    }
}

}  // namespace heddle::detail::cu
