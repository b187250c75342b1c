#include "core/base/spin_lock.hpp"

#include <thread>

namespace heddle::detail {

void SpinLock::wait() noexcept {
    int spins = 0;
    do {
        while (held_.load(std::memory_order_relaxed))
            if (++spins > 64) std::this_thread::yield();
    } while (held_.exchange(true, std::memory_order_acquire));
}

}  // namespace heddle::detail
