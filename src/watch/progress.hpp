// Since when nothing has moved: on streams, on devices.
#pragma once

#include <cstdint>
#include <unordered_map>

#include <heddle/detail/thread_state.hpp>
#include <heddle/device/device.hpp>

#include "core/base/spin_lock.hpp"

namespace heddle::detail {

/// Looks now and then how far all streams have come. One thread calls look(); others may ask.
class Progress {
public:
    /// Looks once, at this time.
    void look(std::int64_t now_ns);
    /// Returns how long ago the stream with this key moved, had nothing to do, or was first seen.
    /// Returns 0 if that is not known, or another thread writes it down just now.
    std::int64_t still_ns(std::uint64_t stream, std::int64_t now_ns) noexcept;
    /// The same for a device with work that is pending. Returns -1 if it has none.
    std::int64_t still_ns(Device device, std::int64_t now_ns) noexcept;

private:
    struct Stream {
        std::uint64_t done = 0;
        std::uint64_t noted = 0;
        std::int64_t moved_ns = 0;
        std::uint64_t round = 0;  ///< in which it was pending
    };
    struct DeviceState {
        bool is_pending = false;
        std::int64_t moved_ns = 0;
    };
    DeviceState& state_of(Device device) noexcept {
        return devices_[static_cast<int>(device.kind())][device.index()];
    }

    SpinLock lock_;  ///< held for moments, by code that calls nobody
    std::unordered_map<std::uint64_t, Stream> streams_;  ///< those with something pending
    std::unordered_map<int, std::uint64_t> works_;  ///< by thread: its work's serial
    DeviceState devices_[2][max_devices];
    std::uint64_t round_ = 0;
};

}  // namespace heddle::detail
