// Objects of the whole process that are made when they are first asked for.
#pragma once

#include <atomic>
#include <utility>

namespace heddle::detail {

/// Makes a T when it is first asked for, and never destroys it. A variable at namespace scope, constinit. Threads that ask for the first
/// time at once make one each, and all but one are thrown away: nobody waits for another thread's making. (A static variable in a
/// function has a guard, which the child of a fork may find held for ever by a thread that it does not have.)
template <class T> class MadeOnce {
public:
    constexpr MadeOnce() noexcept = default;
    MadeOnce(const MadeOnce&) = delete;
    MadeOnce& operator=(const MadeOnce&) = delete;

    /// make() gives a T*, made by `new`. It may be called and its result not be used.
    template <class Make> T& get(Make&& make) {
        T* found = made_.load(std::memory_order_acquire);
        if (found == nullptr) [[unlikely]] {
            T* const fresh = std::forward<Make>(make)();
            if (made_.compare_exchange_strong(found, fresh, std::memory_order_acq_rel)) return *fresh;
            delete fresh;
        }
        return *found;
    }
    T& get() {
        return get([] { return new T; });
    }

private:
    std::atomic<T*> made_{nullptr};
};

}  // namespace heddle::detail
