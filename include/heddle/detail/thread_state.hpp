// What belongs to one host thread: its current device, its current streams, its open scopes.
#pragma once

#include <heddle/detail/stream_state.hpp>

namespace heddle {
class ScopeBase;
}

namespace heddle::detail {

inline constexpr int max_devices = 64;  ///< of one kind

/// Trivially destructible and zero-initialised, so that reading it costs no guard.
struct ThreadState {
    bool device_set = false;
    bool in_host_function = false;  ///< this thread now runs work of a stream: it may not wait
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    ScopeBase* innermost = nullptr;
    StreamState* streams[2][max_devices] = {};  ///< by kind and index; null: the device's default stream
};

inline constinit thread_local ThreadState thread_state{};

inline StreamState*& stream_slot(ThreadState& thread, Device device) noexcept {
    return thread.streams[static_cast<int>(device.kind())][device.index()];
}

}  // namespace heddle::detail
