#include "core/fork.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <pthread.h>
#include <utility>

#include "core/registry.hpp"
#include <heddle/detail/thread_state.hpp>

namespace heddle::detail {

namespace {

struct Entry {
    std::atomic<bool> set{false};
    ForkLock lock;
    bool held = false;  ///< by the thread that forks; under the lock
};
constinit std::array<Entry, static_cast<std::size_t>(ForkOrder::count)> entries{};

void lock_all() {
    for (Entry& entry : entries) {
        if (!entry.set.load(std::memory_order_acquire)) continue;
        entry.lock.lock(entry.lock.object);
        entry.held = true;  // not before: another thread may fork at the same time
    }
}

void unlock_all() {
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
        if (entry->set.load(std::memory_order_acquire) && std::exchange(entry->held, false))
            entry->lock.unlock(entry->lock.object);
}

/// What the parent's streams were, they are not here: no worker and no GPU will ever run them. Waits for nothing but locks that were
/// held over the fork, and makes nothing that another thread may have been making (MadeOnce).
constinit std::atomic<int> fork_count{0};

void become_child() {
    unlock_all();
    fork_count.fetch_add(1, std::memory_order_relaxed);
    forget_observing_threads();
    for_each_stream([](StreamRecord& stream) {
        stream.set(stream_flag::forked);
        // The parent's threads may have held the locks of what recorded it.
        stream.clear(stream_flag::recording | stream_flag::captured | stream_flag::joined);
        stream.recorder.store(nullptr, std::memory_order_relaxed);
    });
    forget_free_streams();
    forget_default_streams();
    forget_branches();
    for (ThreadState& state : thread_states.of)
        for (auto& kind : state.streams) std::ranges::fill(kind, nullptr);
    cpu_backend().after_fork();
    cuda_backend().after_fork();
}

/// At load time: a handler that came with the first lock would miss the forks before it was there.
[[maybe_unused]] const int handlers = pthread_atfork(lock_all, unlock_all, become_child);

}  // namespace

int forks() noexcept { return fork_count.load(std::memory_order_relaxed); }

void register_fork_lock(ForkOrder order, ForkLock lock) noexcept {
    Entry& entry = entries[static_cast<std::size_t>(order)];
    entry.lock = lock;
    entry.set.store(true, std::memory_order_release);
}

}  // namespace heddle::detail
