#include "core/base/spin_lock.hpp"

#include <thread>

namespace heddle::detail {

void SpinLock::lock() noexcept {
    for (int spins = 0; held_.exchange(true, std::memory_order_acquire); ++spins) {
        while (held_.load(std::memory_order_relaxed))
            if (++spins > 64) std::this_thread::yield();
    }
}

}  // namespace heddle::detail
