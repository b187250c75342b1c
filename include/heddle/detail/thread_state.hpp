// What belongs to one host thread: its current device, its current streams, its open scopes.
#pragma once

#include <heddle/detail/stream_state.hpp>

namespace heddle::detail {

inline constexpr int max_devices = 64;  ///< of one kind
inline constexpr int max_scopes = 128;  ///< open at the same time on one thread

/// What a scope (or set_stream, set_device) found, to be put back. Kept here and not in the scope object, so that scopes which are
/// left on the wrong thread or out of order cannot leave dangling pointers.
struct SavedState {
    enum class Kind : std::uint8_t { closed, scope, set };
    Kind kind = Kind::closed;
    bool has_device = false;  ///< device and device_set are to be restored
    bool device_set = false;
    bool has_stream = false;  ///< stream is to be restored on stream_device
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    Device stream_device = Device::unchecked(DeviceKind::cpu, 0);
    StreamState* stream = nullptr;
    std::uint64_t serial = 0;  ///< of the scope
};

/// Trivially destructible and constant-initialised: reading it costs no guard.
struct ThreadState {
    bool device_set = false;
    bool touched = false;  ///< something was set outside of any scope
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    StreamState* streams[2][max_devices] = {};  ///< by kind and index; null: the device's default stream
    int depth = 0;
    std::uint64_t next_serial = 1;
    SavedState saved[max_scopes] = {};
};

/// A thread that synchronises may run the stream's work itself. That work then has a state of its own: it must not
/// see, or change, the scopes of whoever happens to wait.
struct ThreadStates {
    bool in_host_function = false;  ///< runs work of a stream: it may not wait
    ThreadState of[2];
};

inline constinit thread_local ThreadStates thread_states{};

inline ThreadState& this_thread_state() noexcept {
    return thread_states.of[thread_states.in_host_function ? 1 : 0];
}

inline StreamState*& stream_slot(ThreadState& thread, Device device) noexcept {
    return thread.streams[static_cast<int>(device.kind())][device.index()];
}

}  // namespace heddle::detail
