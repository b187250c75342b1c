// The time since the last progress of streams and devices, and since a thread began to wait.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <heddle/device/device.hpp>
#include <heddle/stream/detail/thread_state.hpp>

#include "core/base/spin_lock.hpp"
#include "core/operation/activity.hpp"

namespace heddle::detail {

/// Samples the progress of all streams. One thread calls look(). The other functions are
/// thread-safe.
///
/// Its clock excludes time during which the process did not run (stopped, or starved of CPU). A
/// pause that lasts longer than requested counts only in part.
class Progress {
public:
    /// Takes one sample. `pause_ns` is the pause that the caller requested since the last sample.
    void look(std::int64_t pause_ns);
    /// Returns the time since the stream last made progress, was idle, or was first seen, in ns.
    /// `done` is the number of steps that the stream has done by now. Returns 0 if the time is
    /// unknown or being updated.
    std::int64_t still_ns(std::uint64_t stream, std::uint64_t done) noexcept;
    /// Returns how long the thread has been waiting, in ns. Returns 0 if the time is unknown or
    /// being updated.
    std::int64_t waits_ns(int thread, std::uint64_t wait_serial) noexcept;
    /// Returns whether the thread was running this work at the last sample.
    bool has_seen_work(int thread, std::uint64_t work_serial) noexcept;
    /// Returns the time since the device last made progress on pending work, in ns. Returns -1 if
    /// nothing is pending on the device, or if the time is being updated.
    std::int64_t still_ns(Device device) noexcept;
    /// Returns whether more urgent streams have overtaken this stream since it last advanced. They
    /// must have done all work that was enqueued on them by then, and have received more.
    bool is_overtaken(std::uint64_t stream) noexcept;

private:
    static constexpr std::size_t levels = 8;
    struct Found;
    struct Stream {
        std::uint64_t done = 0, pushed = 0;
        std::uint64_t noted = 0;
        std::int64_t moved_ns = 0;
        std::uint64_t round = 0;  ///< number of the last sample in which it had pending work
        std::size_t level = 0;    ///< level of urgency; 0 is the least urgent
        /// The number of steps enqueued on more urgent streams when this stream last advanced.
        std::uint64_t rivals_pushed = 0;
    };
    struct DeviceState {
        bool is_pending = false;
        std::int64_t moved_ns = 0;
    };
    struct Wait {
        std::uint64_t serial = 0;
        std::int64_t since_ns = 0;
        std::uint64_t work_serial = 0;
    };
    DeviceState& state_of(Device device) noexcept {
        return devices_[static_cast<int>(device.kind())][device.index()];
    }
    /// `may_advance` is true if the stream may advance without being observed.
    void look_at(const Found& found, bool may_advance);
    void look_at(const std::vector<Found>& found, const std::vector<ThreadActivity::Seen>& threads);
    void forget_idle();
    std::uint64_t rivals(const std::array<std::uint64_t, levels>& of, std::size_t level) const;

    SpinLock lock_;  ///< held only briefly: its holders call no other code
    std::int64_t time_ns_ = 0;
    /// Time of the last sample by the real clock; 0 for never.
    std::int64_t looked_ns_ = 0;
    std::unordered_map<std::uint64_t, Stream> streams_;  ///< the streams with pending work
    std::unordered_map<int, Wait> threads_;
    DeviceState devices_[2][max_devices];
    std::uint64_t round_ = 0;
    /// By level of urgency: the steps enqueued on the streams of that level, and the steps that
    /// they have done.
    std::array<std::uint64_t, levels> pushed_{}, done_{};
};

}  // namespace heddle::detail
