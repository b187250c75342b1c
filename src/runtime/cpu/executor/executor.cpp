#include "cpu/executor/executor.hpp"

#include "core/base/clock.hpp"
#include "core/base/environment.hpp"
#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <system_error>
#include <utility>

#include <heddle/error.hpp>

namespace heddle::detail::cpu {

Executor::Executor(int workers) : worker_count_(workers) {
    std::unique_lock lock(mutex_);
    try {
        for (int i = 0; i < workers; ++i) {
            std::thread thread([this] { work(); });
            pthread_setname_np(thread.native_handle(), ("heddle-" + std::to_string(i)).c_str());
            thread.detach();  // close() waits on running_ instead of joining
            ++running_;
        }
    } catch (...) {
        closed_.store(true, std::memory_order_release);
        // Workers that were started still use *this.
        ended_.wait(lock, [&] { return running_ == 0; });
        throw;
    }
}

void Executor::append(Runnable& work) noexcept {
    List& list = lists_[work.level()];
    work.queued_ = true;
    work.next_ = nullptr;
    work.previous_ = std::exchange(list.last, &work);
    (work.previous_ != nullptr ? work.previous_->next_ : list.first) = &work;
    ready_.store(ready_.load(std::memory_order_relaxed) | (1u << work.level()),
                 std::memory_order_relaxed);
    ++waiting_;
}

void Executor::schedule(Runnable& work, int threads) noexcept {
    int woken = 0;
    {
        const std::lock_guard lock(mutex_);
        append(work);
        // Awake workers find the work themselves.
        const int missing = waiting_ + threads - 1 - looking_.load(std::memory_order_relaxed);
        woken = std::min({threads, missing, sleeping_});
    }
    for (; woken > 0; --woken) wake_.notify_one();
}

void Executor::remove(Runnable& work) noexcept {
    List& list = lists_[work.level()];
    (work.previous_ != nullptr ? work.previous_->next_ : list.first) = work.next_;
    (work.next_ != nullptr ? work.next_->previous_ : list.last) = work.previous_;
    work.queued_ = false;
    --waiting_;
    if (list.first == nullptr)
        ready_.store(ready_.load(std::memory_order_relaxed) & ~(1u << work.level()),
                     std::memory_order_relaxed);
}

bool Executor::is_resting() noexcept {
    const std::lock_guard lock(mutex_);
    return waiting_ == 0 && looking_ + sleeping_ == running_;
}

bool Executor::unschedule(Runnable& work) noexcept {
    const std::lock_guard lock(mutex_);
    if (!work.queued_) return false;
    remove(work);
    return true;
}

void Executor::set_level(Runnable& work, int level) noexcept {
    const std::lock_guard lock(mutex_);
    const bool is_ready = work.queued_;
    if (is_ready) remove(work);
    work.level_.store(level, std::memory_order_relaxed);
    if (is_ready) append(work);
}

Runnable* Executor::take() noexcept {
    for (List& list : lists_)
        if (Runnable* work = list.first) {
            remove(*work);
            return work;
        }
    return nullptr;
}

bool Executor::run_one() noexcept {
    Runnable* work = nullptr;
    {
        const std::lock_guard lock(mutex_);
        work = take();
    }
    if (work != nullptr) work->run();
    return work != nullptr;
}

namespace {
/// The executor whose worker is the calling thread, or null.
constinit thread_local const Executor* executor_of_this = nullptr;
}  // namespace

void Executor::work() {
    executor_of_this = this;
    // Spinning briefly before sleeping saves the wake-up (20 to 60 µs) when work arrives in a
    // stream of small operations. On machines with few cores the spin is short, because other
    // threads need the core.
    const std::int64_t usual_ns = std::thread::hardware_concurrency() > 2 ? 40'000 : 5'000;
    std::unique_lock lock(mutex_);
    while (!closed_.load(std::memory_order_relaxed)) {
        if (Runnable* work = take()) {
            lock.unlock();
            work->run();
            lock.lock();
            continue;
        }
        ++looking_;
        lock.unlock();
        for (const std::int64_t until = now_ns() + spin_ns(usual_ns);
             !anything_ready() && now_ns() < until;)
            for (int i = 0; i < 8; ++i) pause();
        lock.lock();
        --looking_;
        if (anything_ready() || closed_.load(std::memory_order_relaxed)) continue;
        ++sleeping_;
        wake_.wait(lock);
        --sleeping_;
    }
    --running_;
    ended_.notify_all();
}

bool Executor::close() noexcept {
    const int self = executor_of_this == this ? 1 : 0;
    std::unique_lock lock(mutex_);
    closed_.store(true, std::memory_order_release);
    wake_.notify_all();
    return ended_.wait_for(lock, std::chrono::seconds(2), [&] { return running_ == self; });
}

namespace {

constexpr int max_workers = 1024;

/// Returns the number of cores that this process may use. In a container that can be fewer than the
/// machine has.
int usable_cores() {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return std::max(1, CPU_COUNT(&allowed));
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

int configured_workers() {
    static constinit MadeOnce<EnvironmentNumber> workers;
    return workers
        .get([] {
            return new EnvironmentNumber(Variable::cpu_threads, 1, max_workers, usable_cores());
        })
        .get();
}

namespace {
constinit std::atomic<Executor*> instance{nullptr};
constinit std::mutex instance_mutex;
const ForkRegistration executor_registered{ForkOrder::executor, instance_mutex};
}  // namespace

Executor& executor() {
    Executor* made = instance.load(std::memory_order_acquire);
    if (made == nullptr) [[unlikely]] {
        // Called outside the lock, because it may call the user's report hook.
        const int workers = configured_workers();
        const std::lock_guard lock(instance_mutex);
        made = instance.load(std::memory_order_acquire);
        if (made == nullptr) {
            try {
                made = new Executor(workers);
            } catch (const std::system_error& error) {
                coded_error(
                    ErrorCode::native,
                    ErrorSite("pthread_create", {}).with_native(error.code().value(), error.what()),
                    "the worker threads cannot be started");
            }
            instance.store(made, std::memory_order_release);
            std::atexit([] {
                if (Executor* running = instance.load()) (void)running->close();
            });
        }
    }
    return *made;
}

Executor* executor_if_made() noexcept { return instance.load(std::memory_order_acquire); }

void forget_executor() noexcept { instance.store(nullptr); }

}  // namespace heddle::detail::cpu
