#include "watch/progress.hpp"

#include <chrono>
#include <mutex>
#include <vector>

#include "core/observe/activity.hpp"
#include "core/stream/registry.hpp"

namespace heddle::detail {

namespace {
/// A stream that has something pending.
struct Found {
    std::uint64_t key;
    Device device;
    std::uint64_t done;
    std::uint64_t noted;  ///< of a stream that is recorded: what it holds back grows
    bool is_known;        ///< it would be seen to advance
};

/// How long a look waits for a driver that may not answer.
constexpr std::chrono::milliseconds patience{20};

std::vector<Found> pending_streams() {
    std::vector<Found> all;
    (void)cuda_backend().ask_progress(patience);
    for_each_stream([&](StreamRecord& stream) {
        if (stream.has(stream_flag::forked | stream_flag::ended)) return;
        StreamCounts counts;
        const bool is_recorded = stream.has(stream_flag::recording);
        const bool is_known = stream.backend->count_steps(stream, counts);
        const bool is_pending = counts.pushed != counts.done;
        if (!is_pending && !is_recorded) return;
        all.push_back({stream.key.load(), stream.device, counts.done,
                       is_recorded ? stream.noted.load() : 0, is_known});
    });
    return all;
}
}  // namespace

void Progress::look(std::int64_t now_ns) {
    const std::vector<Found> found = pending_streams();
    const std::vector<ThreadActivity::Seen> threads = ThreadActivity::all();
    const std::lock_guard lock(lock_);
    ++round_;
    bool is_pending[2][max_devices] = {}, is_unknown[2][max_devices] = {};
    for (const Found& one : found)
        if (!one.is_known) is_unknown[static_cast<int>(one.device.kind())][one.device.index()] = true;
    for (const Found& one : found) {
        const auto [at, is_new] = streams_.try_emplace(one.key);
        Stream& stream = at->second;
        // Another stream of the device may hold it up, and advance.
        const bool moved = is_new || stream.done != one.done || stream.noted != one.noted ||
                           is_unknown[static_cast<int>(one.device.kind())][one.device.index()];
        if (moved) stream = {one.done, one.noted, now_ns, round_};
        stream.round = round_;
        is_pending[static_cast<int>(one.device.kind())][one.device.index()] = true;
        if (moved) state_of(one.device).moved_ns = now_ns;
    }
    // The end of a task, of a graph for example, is a move of its stream.
    for (const ThreadActivity::Seen& thread : threads) {
        const auto [at, is_new] = works_.try_emplace(thread.thread, thread.work_serial);
        if (is_new || at->second == thread.work_serial) continue;
        at->second = thread.work_serial;
        if (const auto stream = streams_.find(thread.work.stream); stream != streams_.end())
            stream->second.moved_ns = now_ns;
        for (const Found& one : found)
            if (one.key == thread.work.stream) state_of(one.device).moved_ns = now_ns;
    }
    std::erase_if(streams_, [&](const auto& one) { return one.second.round != round_; });
    for (int kind = 0; kind < 2; ++kind)
        for (int i = 0; i < max_devices; ++i) {
            DeviceState& device = devices_[kind][i];
            if (!is_pending[kind][i] || !device.is_pending) device.moved_ns = now_ns;
            device.is_pending = is_pending[kind][i];
        }
}

std::int64_t Progress::still_ns(std::uint64_t stream, std::int64_t now_ns) noexcept {
    if (!lock_.try_lock()) return 0;
    const auto found = streams_.find(stream);
    const std::int64_t still = found != streams_.end() ? now_ns - found->second.moved_ns : 0;
    lock_.unlock();
    return still;
}

std::int64_t Progress::still_ns(Device device, std::int64_t now_ns) noexcept {
    if (!lock_.try_lock()) return -1;
    const DeviceState state = state_of(device);
    lock_.unlock();
    return state.is_pending ? now_ns - state.moved_ns : -1;
}

}  // namespace heddle::detail
