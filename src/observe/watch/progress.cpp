#include "watch/progress.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "core/base/clock.hpp"
#include "core/stream/registry.hpp"

namespace heddle::detail {

/// A stream with pending or recorded work.
struct Progress::Found {
    std::uint64_t key;
    Device device;
    std::size_t level;
    StreamCounts counts;
    std::uint64_t noted;  ///< for recorded streams: the number of operations noted so far
    bool is_known;        ///< whether its progress can be observed

    bool is_pending() const noexcept { return counts.pushed != counts.done; }
    static std::vector<Found> all() {
        // How long to wait for a driver that does not answer.
        constexpr std::chrono::milliseconds patience{20};
        std::vector<Found> all;
        (void)cuda_backend().ask_progress(patience);
        for_each_stream([&](StreamRecord& stream) {
            if (stream.has(stream_flag::forked | stream_flag::ended)) return;
            StreamCounts counts;
            const bool is_recorded = stream.has(stream_flag::recording);
            const bool is_known = stream.backend->count_steps(stream, counts);
            if (!is_recorded && counts.pushed == counts.done) return;
            const int urgency =
                std::clamp(-stream.priority.load(), 0, static_cast<int>(levels) - 1);
            all.push_back({stream.key.load(), stream.device, static_cast<std::size_t>(urgency),
                           counts, is_recorded ? stream.noted.load() : 0, is_known});
        });
        return all;
    }
};

std::uint64_t Progress::rivals(const std::array<std::uint64_t, levels>& of,
                               std::size_t level) const {
    std::uint64_t sum = 0;
    for (std::size_t i = level + 1; i < levels; ++i) sum += of[i];
    return sum;
}

void Progress::look_at(const Found& found, bool may_advance) {
    const auto [at, is_new] = streams_.try_emplace(found.key);
    Stream& stream = at->second;
    const StreamCounts& counts = found.counts;
    if (is_new) stream.done = stream.pushed = counts.done;
    pushed_[found.level] += counts.pushed - stream.pushed;
    done_[found.level] += counts.done - stream.done;
    const bool moved =
        is_new || may_advance || stream.done != counts.done || stream.noted != found.noted;
    stream.done = counts.done;
    stream.pushed = counts.pushed;
    stream.noted = found.noted;
    stream.level = found.level;
    stream.round = round_;
    if (moved) stream.moved_ns = state_of(found.device).moved_ns = time_ns_;
}

/// Forgets streams that have no pending work, because they have done all of their steps.
void Progress::forget_idle() {
    std::erase_if(streams_, [&](const auto& one) {
        const Stream& stream = one.second;
        if (stream.round == round_) return false;
        done_[stream.level] += stream.pushed - stream.done;
        return true;
    });
}

void Progress::look_at(const std::vector<Found>& found,
                       const std::vector<ThreadActivity::Seen>& threads) {
    for (const ThreadActivity::Seen& thread : threads) {
        Wait& wait = threads_[thread.thread];
        if (wait.serial != thread.wait_serial) wait.since_ns = time_ns_;
        wait.serial = thread.wait_serial;
        // A task has ended, for example a node of a graph. This counts as progress of its stream.
        if (std::exchange(wait.work_serial, thread.work_serial) == thread.work_serial) continue;
        if (const auto stream = streams_.find(thread.work.stream); stream != streams_.end())
            stream->second.moved_ns = time_ns_;
        for (const Found& one : found)
            if (one.key == thread.work.stream) state_of(one.device).moved_ns = time_ns_;
    }
}

void Progress::look(std::int64_t pause_ns) {
    const std::vector<Found> found = Found::all();
    const std::vector<ThreadActivity::Seen> threads = ThreadActivity::all();
    const std::int64_t now = decision_ns();
    const std::lock_guard lock(lock_);
    if (looked_ns_ != 0) time_ns_ += std::min(now - looked_ns_, 2 * pause_ns);
    looked_ns_ = now;
    ++round_;
    bool is_pending[2][max_devices] = {}, is_unknown[2][max_devices] = {};
    for (const Found& one : found)
        if (!one.is_known)
            is_unknown[static_cast<int>(one.device.kind())][one.device.index()] = true;
    for (const Found& one : found) {
        // If a stream of the device cannot be observed, it may advance and block this stream.
        look_at(one, is_unknown[static_cast<int>(one.device.kind())][one.device.index()]);
        is_pending[static_cast<int>(one.device.kind())][one.device.index()] |= one.is_pending();
    }
    forget_idle();
    look_at(found, threads);
    for (auto& [key, stream] : streams_)
        if (stream.moved_ns == time_ns_) stream.rivals_pushed = rivals(pushed_, stream.level);
    for (int kind = 0; kind < 2; ++kind)
        for (int i = 0; i < max_devices; ++i) {
            DeviceState& device = devices_[kind][i];
            if (!is_pending[kind][i] || !device.is_pending) device.moved_ns = time_ns_;
            device.is_pending = is_pending[kind][i];
        }
}

std::int64_t Progress::still_ns(std::uint64_t stream, std::uint64_t done) noexcept {
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (!lock.owns_lock()) return 0;
    const auto found = streams_.find(stream);
    if (found == streams_.end() || found->second.done != done) return 0;
    return time_ns_ - found->second.moved_ns;
}

bool Progress::has_seen_work(int thread, std::uint64_t work_serial) noexcept {
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    const auto found = threads_.find(thread);
    return found != threads_.end() && found->second.work_serial == work_serial;
}

std::int64_t Progress::waits_ns(int thread, std::uint64_t wait_serial) noexcept {
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (!lock.owns_lock()) return 0;
    const auto found = threads_.find(thread);
    if (found == threads_.end() || found->second.serial != wait_serial) return 0;
    return time_ns_ - found->second.since_ns;
}

std::int64_t Progress::still_ns(Device device) noexcept {
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (!lock.owns_lock()) return -1;
    const DeviceState& state = state_of(device);
    return state.is_pending ? time_ns_ - state.moved_ns : -1;
}

bool Progress::is_overtaken(std::uint64_t stream) noexcept {
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return false;
    const Stream& seen = found->second;
    return rivals(pushed_, seen.level) > seen.rivals_pushed &&
           rivals(done_, seen.level) >= seen.rivals_pushed;
}

}  // namespace heddle::detail
