#include "cuda/device/deferred.hpp"

#include <algorithm>
#include <iterator>
#include <list>
#include <mutex>
#include <new>
#include <optional>

#include "core/base/background.hpp"
#include "core/base/report.hpp"
#include "cuda/device/context.hpp"
#include <heddle/error.hpp>

namespace heddle::detail::cu {

void note_chores(Gpu& g) noexcept {
    const auto others = [&g] { return g.deferred.size() + g.later_frees.size() + g.doomed.size(); };
    g.chores.store(g.zombies.size() + others(), std::memory_order_relaxed);
    if (g.is_polled || others() == 0) return;
    // The program may run for long without any call that does chores.
    try {
        static std::once_flag once;
        std::call_once(once, end_background_at_exit);
        poll_in_background([&g] {
            do_chores_now(g);
            const std::lock_guard lock(g.chores_mutex);
            g.is_polled = !g.deferred.empty() || !g.later_frees.empty() || g.doomed.size() != 0;
            return !g.is_polled;
        });
        g.is_polled = true;
    } catch (...) {
        // no memory or no thread: only do_chores() retries
    }
}

void defer(Gpu& g, std::function<void()> action) {
    std::lock_guard lock(g.chores_mutex);
    g.deferred.push_back(std::move(action));
    note_chores(g);
}

void do_chores_now(Gpu& g) noexcept {
    constexpr std::size_t at_once = 16;  // each costs a query: no caller should pay for hundreds
    if (in_callback || is_forked()) return;
    std::list<Zombie> zombies;
    std::list<std::function<void()>> actions;
    std::size_t taken = 0;
    std::optional<DoomedGraphs> doomed;
    {
        const std::lock_guard lock(g.chores_mutex);
        const auto last = std::next(
            g.zombies.begin(), static_cast<std::ptrdiff_t>(std::min(at_once, g.zombies.size())));
        zombies.splice(zombies.end(), g.zombies, g.zombies.begin(), last);
        g.zombies_in_hand += taken = zombies.size();
        actions.swap(g.deferred);
        doomed.emplace(std::move(g.doomed));
    }
    RelaxedCapture relaxed;
    destroy_doomed_graphs(g, std::move(*doomed));
    zombies.remove_if([&](Zombie& z) { return bury(g, z); });
    do_later_frees(g, at_once);
    std::list<std::function<void()>> again;  // for want of memory
    while (!actions.empty()) {
        std::list<std::function<void()>> one;
        one.splice(one.end(), actions, actions.begin());
        try {
            one.front()();
        } catch (const std::bad_alloc&) {
            again.splice(again.end(), one);
        } catch (const OutOfMemory&) {
            again.splice(again.end(), one);
        } catch (...) {
            report(std::current_exception());
        }
    }
    const std::lock_guard lock(g.chores_mutex);
    g.deferred.splice(g.deferred.end(), again);
    g.zombies.splice(g.zombies.end(), zombies);
    g.zombies_in_hand -= taken;
    note_chores(g);
}

void do_all_chores(Gpu& g) noexcept {
    const auto left = [&g] { return g.chores.load(std::memory_order_relaxed); };
    for (std::size_t before = left(); before != 0;) {
        do_chores_now(g);
        if (left() >= before) return;
        before = left();
    }
}

}  // namespace heddle::detail::cu
