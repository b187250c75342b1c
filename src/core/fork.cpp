#include "core/fork.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <pthread.h>

#include "core/registry.hpp"
#include <heddle/detail/thread_state.hpp>

namespace heddle::detail {

namespace {

struct Entry {
    std::atomic<bool> set{false};
    ForkLock lock;
    bool held = false;  ///< by the thread that forks
};
std::array<Entry, static_cast<std::size_t>(ForkOrder::count)> entries;

void lock_all() {
    for (Entry& entry : entries) {
        entry.held = entry.set.load(std::memory_order_acquire);
        if (entry.held) entry.lock.lock(entry.lock.object);
    }
}

void unlock_all() {
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
        if (std::exchange(entry->held, false)) entry->lock.unlock(entry->lock.object);
}

/// What the parent's streams were, they are not here: no worker and no GPU will ever run them.
void become_child() {
    unlock_all();
    for_each_stream([](StreamRecord& stream) { stream.set(stream_flag::forked); });
    forget_free_streams();
    forget_default_streams();
    forget_branches();
    for (ThreadState& state : thread_states.of)
        for (auto& kind : state.streams) std::ranges::fill(kind, nullptr);
    cpu_backend().after_fork();
    cuda_backend().after_fork();
}

}  // namespace

void register_fork_lock(ForkOrder order, ForkLock lock) noexcept {
    [[maybe_unused]] static const int once = pthread_atfork(lock_all, unlock_all, become_child);
    Entry& entry = entries[static_cast<std::size_t>(order)];
    entry.lock = lock;
    entry.set.store(true, std::memory_order_release);
}

}  // namespace heddle::detail
