#include "core/base/fork.hpp"

#include <array>
#include <atomic>
#include <exception>
#include <pthread.h>
#include <utility>

namespace heddle::detail {

namespace {

struct Entry {
    std::atomic<bool> set{false};
    ForkLock lock;
    bool held = false;  ///< whether the forking thread holds the lock; guarded by the lock
};
constinit std::array<Entry, static_cast<std::size_t>(ForkOrder::count)> entries{};

void lock_all() {
    for (Entry& entry : entries) {
        if (!entry.set.load(std::memory_order_acquire)) continue;
        entry.lock.lock(entry.lock.object);
        // Written only under the lock: another thread may fork at the same time.
        entry.held = true;
    }
}

void unlock_all() {
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
        if (entry->set.load(std::memory_order_acquire) && std::exchange(entry->held, false))
            entry->lock.unlock(entry->lock.object);
}

constinit std::array<std::atomic<void (*)() noexcept>, static_cast<std::size_t>(ForkStep::count)>
    steps{};
constinit std::atomic<int> fork_count{0};

void become_child() {
    unlock_all();
    fork_count.fetch_add(1, std::memory_order_relaxed);
    for (auto& step : steps)
        if (auto* const run = step.load(std::memory_order_acquire)) run();
}

/// Registers the handlers when the library is loaded. If the first register_fork_lock() registered
/// them, earlier forks would be missed.
[[maybe_unused]] const int handlers = pthread_atfork(lock_all, unlock_all, become_child);

}  // namespace

int forks() noexcept { return fork_count.load(std::memory_order_relaxed); }

void register_fork_lock(ForkOrder order, ForkLock lock) noexcept {
    Entry& entry = entries[static_cast<std::size_t>(order)];
    // A second lock would replace the first one, which would then remain locked in children for
    // ever.
    if (entry.set.load(std::memory_order_acquire) && entry.lock.object != lock.object)
        std::terminate();
    entry.lock = lock;
    entry.set.store(true, std::memory_order_release);
}

ForkLock fork_lock(ForkOrder order) noexcept {
    const Entry& entry = entries[static_cast<std::size_t>(order)];
    return entry.set.load(std::memory_order_acquire) ? entry.lock : ForkLock{};
}

void register_fork_step(ForkStep step, void (*run)() noexcept) noexcept {
    const auto before = steps[static_cast<std::size_t>(step)].exchange(run);
    if (before != nullptr && before != run) std::terminate();  // a second step would replace it
}

}  // namespace heddle::detail
