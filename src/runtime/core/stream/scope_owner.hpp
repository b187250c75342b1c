// The owners of threads' scopes, and the scopes that were left on another thread (docs/adr/0060).
#pragma once

#include <atomic>
#include <cstdint>

#include "core/seam/records.hpp"
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

/// A scope that was left on a different thread than the one that entered it. The entering thread
/// closes it.
struct LeftScope {
    std::uint64_t serial = 0;
    int index = 0;  ///< in ThreadState::saved
    /// The use that the restored stream must wait for; null stream if there is none.
    StreamUse waits_for;
    SourceLocation where;  ///< where the scope was made
    LeftScope* next = nullptr;
};

/// The part of a thread's scopes that other threads may access. Reused by later threads, and never
/// freed. A thread has two, one for each of its ThreadStates: the second is for work in host
/// functions.
///
/// A scope's serial number names its owner: the upper 16 bits are the owner's number. The lower
/// bits are never reused.
class HEDDLE_HIDDEN ScopeOwner {
public:
    static constexpr int number_shift = 48;

    /// Returns the owner that made the serial number. Returns null if there was no memory for an
    /// owner.
    static ScopeOwner* of(std::uint64_t serial) noexcept;
    /// Assigns an owner to a state of the calling thread, and sets the state's first serial number.
    static void begin(ThreadState& thread) noexcept;
    /// Passes a scope to its own thread. Returns false, and does not take the scope, if that thread
    /// has ended. Lock-free.
    bool hand_over(LeftScope& left) noexcept;
    bool has_left() const noexcept { return left_.load(std::memory_order_acquire) != nullptr; }
    /// Removes and returns the scopes that were passed to hand_over(), in the order in which they
    /// were passed.
    LeftScope* take_left() noexcept;
    /// The thread's id, as gettid().
    int thread() const noexcept { return thread_.load(std::memory_order_relaxed); }

private:
    friend struct EndOfScopes;
    static ScopeOwner* take() noexcept;
    void end(std::uint64_t last_serial) noexcept;
    static LeftScope* ended() noexcept;

    std::atomic<LeftScope*> left_{nullptr};  ///< newest first; ended() if the thread has ended
    /// The serial numbers of the current thread's scopes are greater. Smaller ones belong to
    /// threads that have ended.
    std::atomic<std::uint64_t> since_{0};
    std::atomic<int> thread_{0};
    std::atomic<bool> is_taken_{true};
};

}  // namespace heddle::detail
