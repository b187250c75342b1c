// Lists of unused objects, for reuse.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>

#include "core/base/spin_lock.hpp"

namespace heddle::detail {

/// The unused objects of one kind, linked through their member `next_free`. Never frees an object.
/// Define it constinit. Thread-safe; none of the functions allocates.
template <class T> class FreeList {
public:
    /// Takes an object from the list. Returns null if there is none.
    T* take() noexcept {
        const std::lock_guard guard(lock_);
        return first_ != nullptr ? std::exchange(first_, first_->next_free) : nullptr;
    }
    void give(T& one) noexcept {
        const std::lock_guard guard(lock_);
        one.next_free = std::exchange(first_, &one);
    }
    /// Adds each element of an array.
    void give(T* slab, std::size_t count) noexcept {
        const std::lock_guard guard(lock_);
        for (std::size_t i = 0; i < count; ++i) slab[i].next_free = std::exchange(first_, &slab[i]);
    }
    /// The list's lock, for ForkRegistration.
    SpinLock& lock() noexcept { return lock_; }

private:
    SpinLock lock_;
    T* first_ = nullptr;
};

}  // namespace heddle::detail
