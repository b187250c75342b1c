// Objects that are kept for reuse.
#pragma once

#include <mutex>
#include <span>
#include <utility>

#include "core/base/spin_lock.hpp"

namespace heddle::detail {

/// The objects of one sort that are not in use, linked through their member `next_free`. Frees none
/// of them. Define it constinit. Thread-safe; none of the functions allocates.
template <class T> class FreeList {
public:
    /// Takes an object from the list. Returns null if there is none.
    T* take() noexcept {
        const std::lock_guard guard(lock_);
        return first_ != nullptr ? std::exchange(first_, first_->next_free) : nullptr;
    }
    void give(T& one) noexcept { give(std::span(&one, 1)); }
    void give(std::span<T> slab) noexcept {
        const std::lock_guard guard(lock_);
        for (T& one : slab) one.next_free = std::exchange(first_, &one);
    }
    /// For ForkRegistration.
    SpinLock& lock() noexcept { return lock_; }

private:
    SpinLock lock_;
    T* first_ = nullptr;
};

}  // namespace heddle::detail
