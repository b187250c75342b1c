// Prevents deadlocks between the host and native calls that wait for a device while they hold the
// driver's lock.
#pragma once

#include <atomic>
#include <cstddef>

namespace heddle::detail::cu {

/// Counts the enqueued waits of GPUs for CPU streams that have not ended.
///
/// Some native calls wait for a device's work while they hold a driver lock, which launches, event
/// records and most other calls also need. Examples are destroying an executable (always if it has
/// conditional nodes, otherwise sometimes), and freeing memory that does not belong to a pool. If
/// the device's work waits for a CPU stream, and the thread that advances the CPU stream needs the
/// lock, the process deadlocks. So heddle makes such calls only while the gate is closed, and the
/// gate can be closed only while no GPU waits for a CPU stream. All GPUs count, because the work of
/// one may wait for the work of another. (docs/adr/0042)
class WaitGate {
public:
    constexpr WaitGate() noexcept = default;

    /// Call before a wait of a GPU for a CPU stream is enqueued. Blocks while the gate is closed.
    void enter() noexcept {
        pending_.fetch_add(1);
        while (is_closed_.load()) {
            pending_.fetch_sub(1);
            is_closed_.wait(true);
            pending_.fetch_add(1);
        }
    }
    /// Call when the host has ended the wait, or if the wait was not enqueued.
    void leave(std::size_t count = 1) noexcept { pending_.fetch_sub(count); }

    /// Closes the gate. Returns true on success: no wait is pending, and no wait can be enqueued
    /// until open(). Returns false if a wait is pending, or if another thread has closed the gate.
    bool close() noexcept {
        if (pending_.load() != 0 || is_closed_.exchange(true)) return false;
        if (pending_.load() == 0) return true;
        open();
        return false;
    }
    /// Returns whether close() would fail. The answer may change at any time.
    bool is_held_open() const noexcept { return pending_.load() != 0 || is_closed_.load(); }
    void open() noexcept {
        is_closed_.store(false);
        is_closed_.notify_all();
    }

private:
    std::atomic<std::size_t> pending_{0};
    std::atomic<bool> is_closed_{false};
};

inline constinit WaitGate wait_gate;

}  // namespace heddle::detail::cu
