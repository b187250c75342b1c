// Worker threads that run ready work in order of priority.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace heddle::detail::cpu {

/// The number of priorities of CPU streams. As on a recent GPU, they are 0 (least urgent) to -5
/// (most urgent). The executor's levels count in the opposite direction: level 0 is the most urgent
/// (priority -5), and level 5 the least urgent (priority 0).
inline constexpr int levels = 6;

/// An item that a worker can run. The executor's lists link items, but do not own them.
class Runnable {
public:
    explicit Runnable(int level) noexcept : level_(level), own_level_(level) {}
    Runnable(const Runnable&) = delete;
    Runnable& operator=(const Runnable&) = delete;

    /// Runs the item. Called on a worker after the item was removed from the lists. *this may be
    /// destroyed before it returns.
    virtual void run() noexcept = 0;
    /// Returns its current level, which Executor::set_level() changes.
    int level() const noexcept { return level_.load(std::memory_order_relaxed); }
    int own_level() const noexcept { return own_level_; }  ///< without lent levels

    virtual ~Runnable() = default;

private:
    friend class Executor;
    friend class QueueLook;
    Runnable* next_ = nullptr;
    Runnable* previous_ = nullptr;
    bool queued_ = false;     ///< guarded by the executor's mutex
    std::atomic<int> level_;  ///< written with the executor's mutex held
    const int own_level_;
};

/// Worker threads and their ready work: one first-in, first-out list for each priority.
/// Thread-safe.
class Executor {
public:
    explicit Executor(int workers);

    int workers() const noexcept { return worker_count_; }

    /// Adds `work`, which up to `threads` workers can share, to the ready list of its level. Wakes
    /// as many sleeping workers, less those that are awake without work.
    void schedule(Runnable& work, int threads = 1) noexcept;
    /// Removes `work` from its ready list. Returns false if it is in no list, because a worker has
    /// taken it or it was never scheduled.
    bool unschedule(Runnable& work) noexcept;
    /// Changes the level of `work`. If `work` is in a ready list, moves it to the end of the new
    /// level's list.
    void set_level(Runnable& work, int level) noexcept;

    bool anything_ready() const noexcept { return ready_.load(std::memory_order_relaxed) != 0; }
    /// Returns whether a worker is awake without work, so that scheduling costs no wake-up.
    bool is_anyone_looking() const noexcept {
        return looking_.load(std::memory_order_relaxed) != 0;
    }
    /// Returns whether something more urgent than `level` is ready.
    bool more_urgent_ready(int level) const noexcept {
        return (ready_.load(std::memory_order_relaxed) & ((1u << level) - 1)) != 0;
    }

    /// Returns whether all workers are idle and no work is ready.
    bool is_resting() noexcept;

    /// How urgent the ready work is, compared with a level.
    enum class Rivals : std::uint8_t { none, equal, more_urgent };
    Rivals rivals(int level) const noexcept {
        const std::uint32_t ready = ready_.load(std::memory_order_relaxed) & ((2u << level) - 1);
        if (ready == 0) [[likely]]
            return Rivals::none;
        return ready == 1u << level ? Rivals::equal : Rivals::more_urgent;
    }

    /// Runs one ready item on the calling thread. Returns false if none is ready. Call only after
    /// close().
    bool run_one() noexcept;
    bool is_closed() const noexcept { return closed_.load(std::memory_order_acquire); }
    /// Ends the workers at exit. Each worker finishes its current item. Ready items stay in their
    /// lists. Waits for at most 2 seconds, so that endless work does not keep the process alive. If
    /// the caller is a worker (a host function calls exit()), does not wait for that worker.
    /// Returns whether all other workers have ended.
    bool close() noexcept;

private:
    struct List {
        Runnable* first = nullptr;
        Runnable* last = nullptr;
    };
    // Call these three with the mutex held:
    Runnable* take() noexcept;
    void remove(Runnable& work) noexcept;
    void append(Runnable& work) noexcept;
    void work();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable ended_;
    List lists_[levels];
    std::atomic<std::uint32_t> ready_{0};  // one bit for each level that has ready work
    int waiting_ = 0;                      ///< number of ready items
    /// The number of workers that are awake without work. Written with the mutex held.
    std::atomic<int> looking_{0};
    int sleeping_ = 0;
    int running_ = 0;
    int worker_count_;
    std::atomic<bool> closed_{false};
};

/// Returns the process's executor. It has HEDDLE_CPU_THREADS workers, by default one for each core
/// that the process may use. The first call starts it, and throws NativeError if a thread cannot be
/// started. The executor is never destroyed. The child of a fork starts a new one.
Executor& executor();
Executor* executor_if_made() noexcept;
void forget_executor() noexcept;  ///< called in the child of a fork
int configured_workers();

/// Pauses the processor briefly inside a spin loop.
inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Prefetches a cache line in exclusive state. A later write then does not wait for other cores to
/// release the line.
inline void prefetch_to_write(const void* line) noexcept {
#if defined(__x86_64__)
    // __builtin_prefetch() emits prefetchw only if compiled for newer processors than the baseline.
    // Processors without prefetchw ignore it.
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
    __builtin_prefetch(line, 1);
#endif
}

}  // namespace heddle::detail::cpu
