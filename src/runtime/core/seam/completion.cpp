#include "core/seam/completion.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "core/base/fork.hpp"
#include "core/seam/backend.hpp"

namespace heddle::detail {

namespace {
// Never destroyed: streams may outlive static destruction. All threads share one pool, because a
// completion is often released on another thread than the one that made it.
static_assert(std::is_trivially_destructible_v<FreeList<Completion>>);
constinit FreeList<Completion> pool;
const ForkRegistration completions_registered{ForkOrder::completions, pool.lock()};

struct BlockedThread : Waiter {
    std::mutex mutex;
    std::condition_variable woken;
    bool done = false;

    BlockedThread() {
        wake = [](Waiter& self, const Completion&) noexcept {
            auto& thread = static_cast<BlockedThread&>(self);
            const std::lock_guard lock(thread.mutex);
            thread.done = true;
            // Called with the lock held: once the lock is released, the waiting thread may destroy
            // this object.
            thread.woken.notify_one();
        };
    }
};
}  // namespace

Completion* new_completion() {
    Completion* made = pool.take();
    if (made == nullptr) {
        constexpr std::size_t slab = 64;
        made = new Completion[slab];
        pool.give(made + 1, slab - 1);
    }
    if (tsan::is_here()) [[unlikely]]
        made->order_ = std::malloc(1);
    return made;
}

void free_completion(Completion& done) noexcept {
    if constexpr (tsan::is_compiled_in) std::free(std::exchange(done.order_, nullptr));
    done.failure_ = nullptr;
    done.time_ns_ = 0;
    done.promised_by_.store(nullptr, std::memory_order_relaxed);
    done.head_.store(nullptr, std::memory_order_relaxed);
    pool.give(done);
}

bool help_at_exit(const Completion& done) noexcept {
    const bool cpu_ended = cpu_backend().help_at_exit(done),
               cuda_ended = cuda_backend().help_at_exit(done);
    return cpu_ended || cuda_ended;
}

namespace {
void sleep_until(Completion& done, WhileBlocked* meanwhile, std::chrono::milliseconds pause) {
    using namespace std::chrono_literals;
    BlockedThread thread;
    if (!done.add(thread)) return;
    for (;;) {
        const bool ends = help_at_exit(done);
        std::unique_lock lock(thread.mutex);
        if (thread.woken.wait_for(lock, ends ? 1ms : pause, [&] { return thread.done; })) return;
        lock.unlock();
        cuda_backend().poll_outstanding();
        if (meanwhile != nullptr && !ends) pause = meanwhile->run();
    }
}

constexpr std::chrono::milliseconds between_polls{100};
}  // namespace

void block_until(Completion& done) {
    sleep_until(done, nullptr, between_polls);
    done.see();
}

void block_until(Completion& done, WhileBlocked& meanwhile, std::chrono::milliseconds pause) {
    sleep_until(done, &meanwhile, pause);
    done.see();
}

namespace {
void tell_backends() noexcept {
    cpu_backend().after_fork();
    cuda_backend().after_fork();
}
const ForkStepRegistration backends_in_children{ForkStep::backends, &tell_backends};
}  // namespace

}  // namespace heddle::detail
