// The time since the last progress: on streams, on devices, for threads that wait.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <heddle/detail/thread_state.hpp>
#include <heddle/device/device.hpp>

#include "core/base/spin_lock.hpp"
#include "core/observe/activity.hpp"

namespace heddle::detail {

/// Samples the progress of all streams. One thread calls look(). The other functions are
/// thread-safe.
///
/// Its clock excludes time during which the process did not run (stopped, or starved of CPU): a
/// pause longer than requested counts only in part.
class Progress {
public:
    /// Takes one sample. `pause_ns`: the pause that the caller has requested since the last sample.
    void look(std::int64_t pause_ns);
    /// Returns the time since the stream last made progress, was idle, or was first seen, in ns.
    /// `done`: the steps that it has done. Returns 0 if unknown or being updated.
    std::int64_t still_ns(std::uint64_t stream, std::uint64_t done) noexcept;
    /// Returns how long the thread has been waiting, in ns. Returns 0 if unknown or being updated.
    std::int64_t waits_ns(int thread, std::uint64_t wait_serial) noexcept;
    /// Returns whether the thread was running this work at the last sample.
    bool has_seen_work(int thread, std::uint64_t work_serial) noexcept;
    /// Returns the time since the device last made progress on pending work, in ns. Returns -1 if
    /// it has nothing pending, or if the time is being updated.
    std::int64_t still_ns(Device device) noexcept;
    /// Returns whether, since the stream last advanced, more urgent streams have done all work that
    /// they had then, and have received more.
    bool is_overtaken(std::uint64_t stream) noexcept;

private:
    static constexpr std::size_t levels = 8;
    struct Found;
    struct Stream {
        std::uint64_t done = 0, pushed = 0;
        std::uint64_t noted = 0;
        std::int64_t moved_ns = 0;
        std::uint64_t round = 0;  ///< the last sample in which it was pending
        std::size_t level = 0;    ///< of urgency; 0 is the least
        /// Steps enqueued on more urgent streams when it last advanced.
        std::uint64_t rivals_given = 0;
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
    /// `may_advance`: the stream may advance without being observed.
    void look_at(const Found& found, bool may_advance);
    void look_at(const std::vector<Found>& found, const std::vector<ThreadActivity::Seen>& threads);
    void forget_idle();
    std::uint64_t rivals(const std::array<std::uint64_t, levels>& of, std::size_t level) const;

    SpinLock lock_;  ///< held briefly, by code that calls no other code
    std::int64_t time_ns_ = 0;
    std::int64_t looked_ns_ = 0;                         ///< by the real clock; 0 for never
    std::unordered_map<std::uint64_t, Stream> streams_;  ///< those with pending work
    std::unordered_map<int, Wait> threads_;
    DeviceState devices_[2][max_devices];
    std::uint64_t round_ = 0;
    /// Steps that were enqueued on the streams of each level, and steps that they have done.
    std::array<std::uint64_t, levels> given_{}, done_{};
};

}  // namespace heddle::detail
