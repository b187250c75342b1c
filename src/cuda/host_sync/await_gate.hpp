// Keeps native calls that wait for a device, with the driver's lock held, from waiting for the
// host.
#pragma once

#include <atomic>
#include <cstddef>

namespace heddle::detail::cu {

/// Counts the waits of GPUs for CPU streams that are enqueued and that the host has not ended yet.
///
/// Some native calls wait for the work of a device while they hold a lock that launches, records of
/// events and most other calls need too (destroying an executable with conditional nodes, freeing
/// memory that is no pool's). If that work waits for a CPU stream, and a thread that takes the CPU
/// stream further needs such a call, none of them ever ends. So these calls are made only while the
/// gate is closed, and it closes only while no GPU waits for a CPU stream: one GPU's work may wait
/// for another's that does. (docs/adr/0042)
class AwaitGate {
public:
    constexpr AwaitGate() noexcept = default;

    /// Call before a wait of a GPU for a CPU stream is enqueued. Blocks while the gate is closed.
    void enter() noexcept {
        pending_.fetch_add(1);
        while (is_closed_.load()) {
            pending_.fetch_sub(1);
            is_closed_.wait(true);
            pending_.fetch_add(1);
        }
    }
    /// Call when the host has ended the wait, or if it was not enqueued after all.
    void leave(std::size_t count = 1) noexcept { pending_.fetch_sub(count); }

    /// Returns whether it is closed now: no wait is pending, and none is enqueued until open().
    /// Returns false if one is pending, or if another thread has closed it.
    bool close() noexcept {
        if (pending_.load() != 0 || is_closed_.exchange(true)) return false;
        if (pending_.load() == 0) return true;
        open();
        return false;
    }
    /// Returns whether close() would fail. It may have changed by the time of the call.
    bool is_held_open() const noexcept { return pending_.load() != 0 || is_closed_.load(); }
    void open() noexcept {
        is_closed_.store(false);
        is_closed_.notify_all();
    }

private:
    std::atomic<std::size_t> pending_{0};
    std::atomic<bool> is_closed_{false};
};

inline constinit AwaitGate await_gate;

}  // namespace heddle::detail::cu
