#include "core/completion.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "core/backend.hpp"
#include "core/fork.hpp"

namespace heddle::detail {

/// Completions are made on one thread and often dropped on another: one shared list, filled in slabs.
class CompletionPool {
public:
    SpinLock& lock() noexcept { return lock_; }

    Completion* take() {
        {
            const std::lock_guard lock(lock_);
            if (free_ != nullptr) return std::exchange(free_, free_->next_free_);
        }
        constexpr int slab = 64;
        auto* made = new Completion[slab];
        const std::lock_guard lock(lock_);
        for (int i = 1; i < slab; ++i) made[i].next_free_ = std::exchange(free_, &made[i]);
        return made;
    }

    void give(Completion& done) noexcept {
        done.failure_ = nullptr;
        done.time_ns_ = 0;
        done.head_.store(nullptr, std::memory_order_relaxed);
        const std::lock_guard lock(lock_);
        done.next_free_ = std::exchange(free_, &done);
    }

private:
    SpinLock lock_;
    Completion* free_ = nullptr;
};

namespace {
CompletionPool& pool() {
    static auto* const instance = [] {
        auto* made = new CompletionPool;  // never destroyed: streams may outlive static destruction
        register_fork_lock(ForkOrder::completions, made->lock());
        return made;
    }();
    return *instance;
}

struct BlockedThread : Waiter {
    std::mutex mutex;
    std::condition_variable woken;
    bool done = false;

    BlockedThread() {
        wake = [](Waiter& self, const Completion&) noexcept {
            auto& thread = static_cast<BlockedThread&>(self);
            const std::lock_guard lock(thread.mutex);
            thread.done = true;
            thread.woken.notify_one();  // under the lock: the thread's stack goes once it is released
        };
    }
};
}  // namespace

Completion* new_completion() { return pool().take(); }
void free_completion(Completion& done) noexcept { pool().give(done); }

void block_until(Completion& done) {
    BlockedThread thread;
    if (!done.add(thread)) return;
    std::unique_lock lock(thread.mutex);
    while (!thread.woken.wait_for(lock, std::chrono::milliseconds(100), [&] { return thread.done; })) {
        lock.unlock();
        cuda_backend().poll_outstanding();
        lock.lock();
    }
}

}  // namespace heddle::detail
