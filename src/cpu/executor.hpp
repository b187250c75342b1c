// The executor: worker threads that take ready work by priority.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace heddle::detail::cpu {

/// Priorities of CPU streams, as on a recent GPU: 0 (least) to -5 (greatest). Level 0 is the most urgent.
inline constexpr int levels = 6;

/// Something a worker can run. Lives where its owner keeps it; is in the executor's lists or not.
class Runnable {
public:
    explicit Runnable(int level) noexcept : level_(level) {}
    Runnable(const Runnable&) = delete;
    Runnable& operator=(const Runnable&) = delete;

    /// Called on a worker after it was taken out of the lists. Afterwards *this may be gone.
    virtual void run() noexcept = 0;
    int level() const noexcept { return level_; }

    virtual ~Runnable() = default;

private:
    friend class Executor;
    Runnable* next_ = nullptr;
    Runnable* previous_ = nullptr;
    bool queued_ = false;  // under the executor's mutex
    int level_;
};

/// Worker threads and what is ready for them: one list for each priority, first come first served.
class Executor {
public:
    explicit Executor(int workers);

    int workers() const noexcept { return worker_count_; }

    /// Makes `work` ready, and wakes a worker if one sleeps.
    void schedule(Runnable& work) noexcept;
    /// Takes `work` back if it is still ready. False: a worker has it, or it was not ready.
    bool unschedule(Runnable& work) noexcept;

    bool anything_ready() const noexcept { return ready_.load(std::memory_order_relaxed) != 0; }
    /// Whether a worker is awake and has nothing: work for it costs no wake-up.
    bool is_anyone_looking() const noexcept { return looking_.load(std::memory_order_relaxed) != 0; }
    /// Whether something more urgent than `level` is ready.
    bool more_urgent_ready(int level) const noexcept {
        return (ready_.load(std::memory_order_relaxed) & ((1u << level) - 1)) != 0;
    }

    /// Runs one ready thing on the calling thread. Only after close().
    bool run_one() noexcept;
    bool is_closed() const noexcept { return closed_.load(std::memory_order_acquire); }
    /// At exit: workers finish what they are running and end; the rest stays where it is. Waits for them, but not for ever:
    /// work that never ends must not keep the process alive.
    void close() noexcept;

private:
    struct List {
        Runnable* first = nullptr;
        Runnable* last = nullptr;
    };
    Runnable* take() noexcept;  // under the mutex
    void remove(Runnable& work) noexcept;
    void work();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable ended_;
    List lists_[levels];
    std::atomic<std::uint32_t> ready_{0};  // a bit for each level that has something
    int waiting_ = 0;                      ///< ready things
    std::atomic<int> looking_{0};  ///< workers that are awake and have nothing; written under the mutex
    int sleeping_ = 0;
    int running_ = 0;
    int worker_count_;
    std::atomic<bool> closed_{false};
};

/// The process's executor: HEDDLE_CPU_THREADS workers, else one for each core. Started when first needed, never destroyed;
/// a forked child gets a new one.
Executor& executor();
Executor* executor_if_made() noexcept;
void forget_executor() noexcept;  ///< in the child of a fork
int configured_workers();

/// For short busy waits.
inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Fetches a cache line for this core alone, so that writing to it later does not wait for others to give it up.
inline void prefetch_to_write(const void* line) noexcept {
#if defined(__x86_64__)
    // The builtin makes this instruction only for processors newer than the oldest; where there is none it does nothing.
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
    __builtin_prefetch(line, 1);
#endif
}

}  // namespace heddle::detail::cpu
