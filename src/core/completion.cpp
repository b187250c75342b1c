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
// Never destroyed: streams may outlive static destruction.
static_assert(std::is_trivially_destructible_v<CompletionPool>);
constinit CompletionPool pool;
const ForkRegistration registered{ForkOrder::completions, pool.lock()};

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

Completion* new_completion() { return pool.take(); }
void free_completion(Completion& done) noexcept { pool.give(done); }

bool help_at_exit(const Completion& done) noexcept {
    const bool cpu_ended = cpu_backend().help_at_exit(done), cuda_ended = cuda_backend().help_at_exit(done);
    return cpu_ended || cuda_ended;
}

void block_until(Completion& done) {
    using namespace std::chrono_literals;
    BlockedThread thread;
    if (!done.add(thread)) return;
    for (;;) {
        const bool ends = help_at_exit(done);
        std::unique_lock lock(thread.mutex);
        if (thread.woken.wait_for(lock, ends ? 1ms : 100ms, [&] { return thread.done; })) return;
        lock.unlock();
        cuda_backend().poll_outstanding();
    }
}

}  // namespace heddle::detail
