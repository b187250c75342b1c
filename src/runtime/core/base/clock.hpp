// The host's clock, in nanoseconds, and the clock for decisions.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

namespace heddle::detail {

/// Returns the time of std::chrono::steady_clock in nanoseconds. Reads CLOCK_MONOTONIC, as
/// libstdc++ does, but with one call less.
inline std::int64_t now_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// A clock that replaces the host's for all choices that depend on durations: whether a watch's
/// limit has passed, which stream a DataOrder chooses, how a kernel is split, how long an idle
/// worker spins. Times that users see (timelines, events) are always results of now_ns(). The work
/// is correct for every choice; tests set a clock to cover all choices. Thread-safe.
class DecisionClock {
public:
    virtual std::int64_t now_ns() noexcept = 0;
    /// Blocks until another thread has changed `word` from `seen` and woken its futex, or `ns` have
    /// passed. May return early.
    virtual void wait(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                      std::int64_t ns) noexcept = 0;
    /// Returns how long a thread spins before it sleeps, in ns. `usual` is the host's choice.
    virtual std::int64_t spin_ns(std::int64_t usual) noexcept = 0;

    /// Returns the clock that was set, or null if none was set.
    static DecisionClock* current() noexcept { return current_.load(std::memory_order_acquire); }
    /// Sets a clock; null restores the host's. The clock must live as long as the process.
    static void set(DecisionClock* clock) noexcept {
        current_.store(clock, std::memory_order_release);
    }

protected:
    ~DecisionClock() = default;

private:
    inline static constinit std::atomic<DecisionClock*> current_{nullptr};
};

/// Returns the time of the clock for decisions, in nanoseconds.
inline std::int64_t decision_ns() noexcept {
    DecisionClock* const clock = DecisionClock::current();
    return clock == nullptr ? now_ns() : clock->now_ns();
}

/// Returns how long a thread spins before it sleeps, in ns: `usual`, unless a clock was set.
inline std::int64_t spin_ns(std::int64_t usual) noexcept {
    DecisionClock* const clock = DecisionClock::current();
    return clock == nullptr ? usual : clock->spin_ns(usual);
}

/// Blocks the calling thread for `ns` nanoseconds, measured by the clock for decisions. Used by
/// threads that poll.
inline void decision_pause(std::int64_t ns) noexcept {
    if (DecisionClock* const clock = DecisionClock::current()) {
        std::atomic<std::uint32_t> unchanged{0};
        return clock->wait(unchanged, 0, ns);
    }
    const timespec pause{ns / 1'000'000'000, ns % 1'000'000'000};
    (void)nanosleep(&pause, nullptr);
}

}  // namespace heddle::detail
