// Does the cleanup that other parts of the backend have deferred.
#include <algorithm>
#include <iterator>
#include <list>
#include <mutex>

#include "core/base/report.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/host_sync/pending_use.hpp"
#include "cuda/memory/later_frees.hpp"
#include "cuda/stream/closed_stream.hpp"
#include <heddle/error.hpp>

namespace heddle::detail::cu {

void run_cleanups_now(Gpu& g) noexcept {
    constexpr std::size_t at_once = 16;  // each costs a query; hundreds would delay a caller
    if (in_callback || is_forked()) return;
    std::list<Zombie> zombies;
    std::list<std::function<void()>> actions;
    std::size_t taken = 0;
    DoomedGraphs doomed;
    {
        const std::lock_guard lock(g.cleanups_mutex);
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
    std::list<std::function<void()>> again;  // actions to retry, because memory ran out
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
    const std::lock_guard lock(g.cleanups_mutex);
    g.deferred.splice(g.deferred.end(), again);
    g.zombies.splice(g.zombies.end(), zombies);
    g.zombies_in_hand -= taken;
    note_cleanups(g);
}

}  // namespace heddle::detail::cu
