#include "core/stream/scope_owner.hpp"

#include <cstddef>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace heddle::detail {

namespace {
constexpr std::size_t most_owners = std::size_t{1} << (64 - ScopeOwner::number_shift);
constinit std::atomic<ScopeOwner*> owners[most_owners];  // 0 stays free
constinit std::atomic<std::size_t> last_owner{0};
constinit LeftScope end_mark;
/// The number of scopes that a thread may enter while it ends, after it lost its owner.
constexpr std::uint64_t serials_ahead = 1u << 20;
}  // namespace

struct EndOfScopes {
    bool is_needed = false;
    ~EndOfScopes() {
        for (ThreadState& state : thread_states.of)
            if (ScopeOwner* const own = std::exchange(state.owner, nullptr))
                own->end(state.last_serial);
    }
};

namespace {
thread_local EndOfScopes at_end_of_thread;
}

LeftScope* ScopeOwner::ended() noexcept { return &end_mark; }

ScopeOwner* ScopeOwner::of(std::uint64_t serial) noexcept {
    return owners[serial >> number_shift].load(std::memory_order_acquire);
}

ScopeOwner* ScopeOwner::take() noexcept {
    const std::size_t made = last_owner.load(std::memory_order_acquire);
    for (std::size_t i = 1; i <= made && i < most_owners; ++i) {
        ScopeOwner* const one = owners[i].load(std::memory_order_acquire);
        bool taken = false;
        if (one != nullptr && one->is_taken_.compare_exchange_strong(taken, true)) return one;
    }
    auto* const fresh = new (std::nothrow) ScopeOwner;
    if (fresh == nullptr) return nullptr;
    const std::size_t number = last_owner.fetch_add(1) + 1;
    if (number >= most_owners) {
        delete fresh;
        return nullptr;
    }
    fresh->since_ = std::uint64_t{number} << number_shift;
    owners[number].store(fresh, std::memory_order_release);
    return fresh;
}

void ScopeOwner::begin(ThreadState& thread) noexcept {
    ScopeOwner* const own = take();
    if (own == nullptr) return;  // serial numbers without an owner count from 1
    at_end_of_thread.is_needed = true;
    own->thread_.store(static_cast<int>(syscall(SYS_gettid)), std::memory_order_relaxed);
    thread.last_serial = own->since_.load(std::memory_order_relaxed);
    own->left_.store(nullptr, std::memory_order_release);
    thread.owner = own;
}

bool ScopeOwner::hand_over(LeftScope& left) noexcept {
    LeftScope* first = left_.load(std::memory_order_acquire);
    do {
        if (first == ended() || left.serial <= since_.load(std::memory_order_acquire)) return false;
        left.next = first;
    } while (!left_.compare_exchange_weak(first, &left, std::memory_order_acq_rel,
                                          std::memory_order_acquire));
    return true;
}

LeftScope* ScopeOwner::take_left() noexcept {
    LeftScope* newest = left_.exchange(nullptr, std::memory_order_acq_rel);
    LeftScope* oldest = nullptr;
    while (newest != nullptr) {
        LeftScope* const next = std::exchange(newest->next, oldest);
        oldest = std::exchange(newest, next);
    }
    return oldest;
}

void ScopeOwner::end(std::uint64_t last_serial) noexcept {
    LeftScope* left = left_.exchange(ended(), std::memory_order_acq_rel);
    while (left != nullptr) delete std::exchange(left, left->next);
    since_.store(last_serial + serials_ahead, std::memory_order_release);
    is_taken_.store(false, std::memory_order_release);
}

}  // namespace heddle::detail
