#include "cuda/device/deferred.hpp"
#include "cuda/memory/later_frees.hpp"
#include "cuda/stream/closed_stream.hpp"

#include <algorithm>
#include <iterator>
#include <list>
#include <mutex>
#include <new>

#include "core/base/background.hpp"
#include "core/base/report.hpp"
#include "cuda/device/context.hpp"
#include <heddle/error.hpp>

namespace heddle::detail::cu {

namespace {
/// Returns how many chores the background thread retries. Call with chores_mutex held.
std::size_t polled_chores(const Gpu& g) noexcept {
    return g.deferred.size() + g.later_frees.size() + g.doomed.size();
}
}  // namespace

void note_chores(Gpu& g) noexcept {
    g.chores.store(g.zombies.size() + polled_chores(g), std::memory_order_relaxed);
    if (g.is_polled || polled_chores(g) == 0) return;
    // The program may run for a long time without any call that does chores.
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

void do_chores_now(Gpu& g) noexcept {
    constexpr std::size_t at_once = 16;  // each costs a query; no caller should pay for hundreds
    if (in_callback || is_forked()) return;
    std::list<Zombie> zombies;
    std::list<std::function<void()>> actions;
    std::size_t taken = 0;
    DoomedGraphs doomed;
    {
        const std::lock_guard lock(g.chores_mutex);
        const auto last = std::next(
            g.zombies.begin(), static_cast<std::ptrdiff_t>(std::min(at_once, g.zombies.size())));
        zombies.splice(zombies.end(), g.zombies, g.zombies.begin(), last);
        g.zombies_in_hand += taken = zombies.size();
        actions.swap(g.deferred);
        doomed.take(g.doomed);
    }
    RelaxedCapture relaxed;
    doomed.destroy(g);
    zombies.remove_if([&](Zombie& z) { return recycle_if_done(g, z); });
    do_later_frees(g, at_once);
    std::list<std::function<void()>> again;  // retried because memory ran out
    while (!actions.empty()) {
        std::list<std::function<void()>> one;
        one.splice(one.end(), actions, actions.begin());
        try {
            one.front()();
        } catch (...) {
            if (is_want_of_memory()) again.splice(again.end(), one);
            else report(std::current_exception());
        }
    }
    const std::lock_guard lock(g.chores_mutex);
    g.deferred.splice(g.deferred.end(), again);
    g.zombies.splice(g.zombies.end(), zombies);
    g.zombies_in_hand -= taken;
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
