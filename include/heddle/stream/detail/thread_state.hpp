// State of one host thread: its current device, current streams and open scopes.
#pragma once

#include <heddle/stream/detail/stream_state.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

class ScopeOwner;

inline constexpr int max_devices = 64;  ///< of each kind
inline constexpr int max_scopes = 128;  ///< open at the same time on one thread

/// The state that a scope (or set_stream, set_device) replaced and will restore. Stored here
/// instead of in the scope object, so that a scope left on the wrong thread or out of order leaves
/// no dangling pointer.
struct SavedState {
    enum class Kind : std::uint8_t { closed, scope, set };
    Kind kind = Kind::closed;
    bool has_device = false;  ///< `device` and `device_set` are to be restored
    bool device_set = false;
    bool has_stream = false;  ///< `stream` is to be restored for `stream_device`
    /// Whether `entered` did not wait for the stream that it replaced, and how many of that
    /// stream's operations had been reported to observers by then.
    bool has_no_wait = false;
    std::uint64_t told_before = 0;
    Device device = Access::device(DeviceKind::cpu, 0);
    Device stream_device = Access::device(DeviceKind::cpu, 0);
    StreamState* stream = nullptr;
    std::uint64_t serial = 0;  ///< identifies the scope
    /// The stream that the scope made current. Null for a scope of a device.
    StreamState* entered = nullptr;
    const char* file = nullptr;  ///< where the scope was made
    unsigned line = 0;
};

/// Trivially destructible and constant-initialised, so that access needs no guard. All zero
/// initially, so that a new thread copies nothing.
struct ThreadState {
    bool device_set = false;
    bool touched = false;  ///< whether anything was set outside of scopes
    Device device = Access::device(DeviceKind::cpu, 0);
    /// The part that other threads see. Null until the thread enters a scope.
    ScopeOwner* owner = nullptr;
    /// Current streams, by kind and index of the device. Null stands for the device's default
    /// stream.
    StreamState* streams[2][max_devices] = {};
    int depth = 0;
    std::uint64_t last_serial = 0;
    SavedState saved[max_scopes] = {};
};

/// A thread that synchronises may run the stream's work itself. That work has a state of its own,
/// so that it neither sees nor changes the scopes of the waiting thread.
struct ThreadStates {
    bool in_host_function = false;  ///< the thread runs work of a stream and must not wait
    ThreadState of[2];
};

inline constinit thread_local ThreadStates thread_states{};

inline ThreadState& this_thread_state() noexcept {
    return thread_states.of[thread_states.in_host_function ? 1 : 0];
}

inline StreamState*& stream_slot(ThreadState& thread, Device device) noexcept {
    return thread.streams[static_cast<int>(device.kind())][device.index()];
}

}  // namespace detail
}  // namespace heddle
