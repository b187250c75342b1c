// Process-wide objects that are never destroyed: streams may outlive static destruction.
#pragma once

#include <atomic>
#include <utility>

namespace heddle::detail {

/// A T that exists before any code runs, without an allocation, so that noexcept functions may use
/// it. Define it constinit and at namespace scope (a function's static variable could need a
/// guard).
template <class T> class NeverDestroyed {
public:
    constexpr NeverDestroyed() : object_() {}
    NeverDestroyed(const NeverDestroyed&) = delete;
    NeverDestroyed& operator=(const NeverDestroyed&) = delete;
    constexpr ~NeverDestroyed() {}

    T& get() noexcept { return object_; }

private:
    union {
        T object_;
    };
};

/// Makes a T on first use and never destroys it. For types without a constexpr constructor. Making
/// the T allocates, so a noexcept function may use it only if it was made before. (Some files call
/// get() when the library is loaded, in `made_at_load`.) Define it constinit. Threads that race for
/// the first use make one T each and delete all but one, so that no thread waits for another. (A
/// function's static variable has a guard. In the child of a fork, a thread that does not exist
/// there may hold that guard.) Thread-safe.
template <class T> class MadeOnce {
public:
    constexpr MadeOnce() noexcept = default;
    MadeOnce(const MadeOnce&) = delete;
    MadeOnce& operator=(const MadeOnce&) = delete;

    /// `make` returns a T* made by `new`. Its result is deleted if another thread was faster.
    template <class Make> T& get(Make&& make) {
        T* found = made_.load(std::memory_order_acquire);
        if (found == nullptr) [[unlikely]] {
            T* const fresh = std::forward<Make>(make)();
            if (made_.compare_exchange_strong(found, fresh, std::memory_order_acq_rel))
                return *fresh;
            delete fresh;
        }
        return *found;
    }
    T& get() {
        return get([] { return new T; });
    }

    /// Returns the object, or null if it has not been made.
    T* if_made() const noexcept { return made_.load(std::memory_order_acquire); }
    /// Makes the next get() construct a new object. The present object is not destroyed. For the
    /// child of a fork.
    void forget() noexcept { made_.store(nullptr); }

private:
    std::atomic<T*> made_{nullptr};
};

}  // namespace heddle::detail
