#pragma once

// Measures the time during which at least one of several threads is busy.

#include <chrono>
#include <mutex>

namespace heddle::tool {

/// Adds up the time in which at least one Busy of this clock exists. Thread-safe.
class BusyClock {
public:
    double seconds() const {
        const std::lock_guard lock(mutex_);
        return std::chrono::duration<double>(total_).count();
    }
    void reset() {
        const std::lock_guard lock(mutex_);
        total_ = {};
    }

private:
    friend class Busy;
    using Clock = std::chrono::steady_clock;

    void enter() {
        const std::lock_guard lock(mutex_);
        if (inside_++ == 0) since_ = Clock::now();
    }
    void leave() {
        const std::lock_guard lock(mutex_);
        if (--inside_ == 0) total_ += Clock::now() - since_;
    }

    mutable std::mutex mutex_;
    int inside_ = 0;
    Clock::time_point since_;
    Clock::duration total_{};
};

/// While this object exists, the clock counts the time as busy.
class Busy {
public:
    explicit Busy(BusyClock& clock) : clock_(clock) { clock_.enter(); }
    ~Busy() { clock_.leave(); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

private:
    BusyClock& clock_;
};

}  // namespace heddle::tool
