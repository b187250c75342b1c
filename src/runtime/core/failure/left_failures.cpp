#include "core/failure/left_failures.hpp"

#include <mutex>
#include <new>
#include <utility>

#include "core/base/fork.hpp"
#include "core/base/spin_lock.hpp"
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

namespace {

struct Left {
    SpinLock lock;  ///< guards the rest
    std::unique_ptr<LeftFailure> newest;
    std::uint64_t cleared[2][max_devices] = {};  ///< the moment of clear_errors(), by device

    std::uint64_t& cleared_at(Device device) noexcept {
        return cleared[static_cast<int>(device.kind())][device.index()];
    }
};
/// Never destroyed: streams may end during the end of the process.
union KeptLeft {
    constexpr KeptLeft() noexcept : left() {}
    ~KeptLeft() {}
    Left left;
};
constinit KeptLeft kept;
Left& left = kept.left;
const ForkRegistration left_failures_registered{ForkOrder::left_failures, kept.left.lock};

Failure copy_of(const Failure& failure) noexcept {
    try {
        return make_failure(ErrorInfo(*failure));
    } catch (const std::bad_alloc&) {
        return no_memory_failure();
    }
}

/// Moves the elements for which is_wanted(one) is true to `to`. Call with the lock held.
template <class F> void take_if(std::unique_ptr<LeftFailure>& to, const F& is_wanted) noexcept {
    for (std::unique_ptr<LeftFailure>* at = &left.newest; *at != nullptr;) {
        if (!is_wanted(**at)) {
            at = &(*at)->older;
            continue;
        }
        std::unique_ptr<LeftFailure> one = std::move(*at);
        *at = std::move(one->older);
        one->older = std::move(to);
        to = std::move(one);
        failures_left.fetch_sub(1, std::memory_order_release);
    }
}

/// Destroys the chain without recursion.
void destroy(std::unique_ptr<LeftFailure> chain) noexcept {
    while (chain != nullptr) chain = std::exchange(chain->older, nullptr);
}

}  // namespace

bool is_void(const FailedWork& failure, Device device, std::uint64_t gone_at) noexcept {
    if (failure.cleared_at() > gone_at) return true;
    const std::lock_guard lock(left.lock);
    return left.cleared_at(device) > gone_at;
}

void leave_failure(std::unique_ptr<LeftFailure>& made, std::uint64_t key, Device device,
                   std::uint64_t gone_at, const Failure& failure) noexcept {
    if (failure == nullptr || made == nullptr) return;
    made->key = key;
    made->device = device;
    made->failure = copy_of(failure);
    made->origin = failure;
    std::unique_ptr<LeftFailure> forgotten;
    {
        const std::lock_guard lock(left.lock);
        // Checked with the lock held: forget_failure_left() calls note_cleared() before it locks.
        if (failure->cleared_at() > gone_at || left.cleared_at(device) > gone_at) return;
        if (failures_left.load(std::memory_order_relaxed) >= most_failures_left) {
            const LeftFailure* last = left.newest.get();
            while (last->older != nullptr) last = last->older.get();
            take_if(forgotten, [last](const LeftFailure& one) { return &one == last; });
        }
        made->older = std::move(left.newest);
        left.newest = std::move(made);
        failures_left.fetch_add(1, std::memory_order_release);
    }
    destroy(std::move(forgotten));
}

Failure find_failure_left(std::uint64_t key) noexcept {
    const std::lock_guard lock(left.lock);
    for (const LeftFailure* one = left.newest.get(); one != nullptr; one = one->older.get())
        if (one->key == key) return one->failure;
    return nullptr;
}

void forget_failure_left(const Failure& cleared) noexcept {
    cleared->note_cleared();
    std::unique_ptr<LeftFailure> forgotten;
    Failure kept;  // destroyed without the lock
    {
        const std::lock_guard lock(left.lock);
        // Users that inherited the failure from an array have the copy.
        std::weak_ptr<const FailedWork> origin = cleared;
        for (const LeftFailure* one = left.newest.get(); one != nullptr; one = one->older.get())
            if (one->failure == cleared) origin = one->origin;
        kept = origin.lock();
        if (kept != nullptr) kept->note_cleared();
        take_if(forgotten, [&](const LeftFailure& one) {
            return one.failure == cleared ||
                   (!one.origin.owner_before(origin) && !origin.owner_before(one.origin));
        });
    }
    destroy(std::move(forgotten));
}

void forget_failures_left(Device device) noexcept {
    std::unique_ptr<LeftFailure> forgotten;
    {
        const std::lock_guard lock(left.lock);
        left.cleared_at(device) = next_moment();
        take_if(forgotten, [&](const LeftFailure& one) { return one.device == device; });
    }
    destroy(std::move(forgotten));
}

}  // namespace heddle::detail
