// A spin lock.
#pragma once

#include <atomic>

namespace heddle::detail {

/// A one-byte lock for short critical sections. After 64 spins it yields the processor.
class SpinLock {
public:
    void lock() noexcept {
        if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
            wait();
    }
    bool try_lock() noexcept { return !held_.exchange(true, std::memory_order_acquire); }
    void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
    void wait() noexcept;

    std::atomic<bool> held_{false};
};

}  // namespace heddle::detail
