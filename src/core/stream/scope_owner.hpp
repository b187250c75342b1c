// Who owns a thread's scopes, and those of them that were left on another thread (docs/adr/0060).
#pragma once

#include <atomic>
#include <cstdint>

#include "core/seam/records.hpp"
#include <heddle/detail/thread_state.hpp>

namespace heddle::detail {

/// A scope that was left on another thread than it was entered on. Its own thread closes it.
struct LeftScope {
    std::uint64_t serial = 0;
    int index = 0;  ///< in ThreadState::saved
    /// What the restored stream has to wait for; no stream: nothing.
    StreamUse waits_for;
    SourceLocation where;  ///< where the scope was made
    LeftScope* next = nullptr;
};

/// What other threads know of a thread that has entered a scope. Used again by a later thread, and
/// never freed. A thread has two, one for its work in host functions, as it has two states.
///
/// The serial number of a scope says whose it is: its upper 16 bits are the owner's number, and the
/// rest is never used twice.
class ScopeOwner {
public:
    static constexpr int number_shift = 48;

    /// Returns the owner that made the serial number, or null if that had no memory for one.
    static ScopeOwner* of(std::uint64_t serial) noexcept;
    /// Gives a state of the calling thread an owner, and sets where its serial numbers begin.
    static void begin(ThreadState& thread) noexcept;
    /// Hands a scope to its thread. Returns false, and takes nothing, if that has ended. Lock-free.
    bool hand_over(LeftScope& left) noexcept;
    bool has_left() const noexcept { return left_.load(std::memory_order_acquire) != nullptr; }
    /// Returns the scopes that were handed over, in the order in which they were left.
    LeftScope* take_left() noexcept;
    /// The thread's id, as gettid().
    int thread() const noexcept { return thread_.load(std::memory_order_relaxed); }

private:
    friend struct EndOfScopes;
    static ScopeOwner* take() noexcept;
    void end(std::uint64_t last_serial) noexcept;
    static LeftScope* ended() noexcept;

    std::atomic<LeftScope*> left_{nullptr};  ///< newest first; ended(): there is no thread
    std::atomic<std::uint64_t> since_{0};    ///< serial numbers of its thread are greater
    std::atomic<int> thread_{0};
    std::atomic<bool> is_taken_{true};
};

}  // namespace heddle::detail
