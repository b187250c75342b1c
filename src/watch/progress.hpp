// Since when nothing has moved: on streams, on devices, for threads that wait.
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

/// Looks now and then how far all streams have come. One thread calls look(); others may ask.
///
/// Its time stands still while the process does: of a pause that was longer than asked for, because
/// the process was stopped or the machine is overloaded, only a part counts.
class Progress {
public:
    /// Looks once. `pause_ns`: how long the caller meant to wait since the last look.
    void look(std::int64_t pause_ns);
    /// Return how long ago the stream with this key, which has done so many steps, moved, had
    /// nothing to do, or was first seen, and how long the thread has been seen to wait. Return 0 if
    /// that is not known, or another thread writes it down just now.
    std::int64_t still_ns(std::uint64_t stream, std::uint64_t done) noexcept;
    std::int64_t waits_ns(int thread, std::uint64_t wait_serial) noexcept;
    /// Returns whether the thread was at this work when look() looked.
    bool has_seen_work(int thread, std::uint64_t work_serial) noexcept;
    /// The same for a device with work that is pending. Returns -1 if it has none.
    std::int64_t still_ns(Device device) noexcept;
    /// Returns whether, since the stream moved, more urgent streams have done all that they had
    /// then, and got more.
    bool is_overtaken(std::uint64_t stream) noexcept;

private:
    static constexpr std::size_t levels = 8;
    struct Found;
    struct Stream {
        std::uint64_t done = 0, pushed = 0;
        std::uint64_t noted = 0;
        std::int64_t moved_ns = 0;
        std::uint64_t round = 0;         ///< in which it was pending
        std::size_t level = 0;           ///< of urgency, from 0, the least
        std::uint64_t rivals_given = 0;  ///< when it moved: to all more urgent ones
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
    /// `may_advance`: unseen.
    void look_at(const Found& found, bool may_advance);
    void look_at(const std::vector<Found>& found, const std::vector<ThreadActivity::Seen>& threads);
    void forget_idle();
    std::uint64_t rivals(const std::array<std::uint64_t, levels>& of, std::size_t level) const;

    SpinLock lock_;  ///< held for moments, by code that calls nobody
    std::int64_t time_ns_ = 0;
    std::int64_t looked_ns_ = 0;                         ///< by the real clock; 0: never
    std::unordered_map<std::uint64_t, Stream> streams_;  ///< those with something pending
    std::unordered_map<int, Wait> threads_;
    DeviceState devices_[2][max_devices];
    std::uint64_t round_ = 0;
    /// Steps that streams of each level were given, and have done.
    std::array<std::uint64_t, levels> given_{}, done_{};
};

}  // namespace heddle::detail
