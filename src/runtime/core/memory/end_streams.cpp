#include "core/memory/end_streams.hpp"

#include <algorithm>
#include <memory>

#include "core/memory/gathering.hpp"
#include "core/seam/backend.hpp"
#include "core/stream/usable.hpp"

namespace heddle::detail {

namespace {
constexpr std::size_t most_idle = 16;

bool is_free(StreamRecord& stream) noexcept {
    try {
        return !stream.has(stream_flag::slow_order) && is_idle(stream, {});
    } catch (...) {
        return false;  // the device is lost
    }
}
}  // namespace

// The mutex is not held while a stream is queried: the query may free memory, which needs a stream.
StreamRecord& EndStreams::take(Device device) {
    {
        const std::lock_guard lock(mutex_);
        idle_[{device.kind(), device.index()}].reserve(most_idle);
    }
    if (StreamRecord* const oldest = remove_oldest(device)) {
        oldest->note_back();
        if (is_free(*oldest)) return *oldest;
        give(*oldest);
    }
    StreamRecord& made = open_stream(device, 0, "memory end", {}, Naming::with_id);
    made.set(stream_flag::internal);
    return made;
}

void EndStreams::give(StreamRecord& stream) noexcept {
    if (!stream.has(stream_flag::slow_order)) {
        const std::lock_guard lock(mutex_);
        const auto found = idle_.find({stream.device.kind(), stream.device.index()});
        if (found != idle_.end() && found->second.size() < most_idle)
            return found->second.give({.stream = &stream});
    }
    close_stream(stream);
}

void EndStreams::trim(Device device) noexcept {
    while (StreamRecord* const one = remove_oldest(device)) close_stream(*one);
}

StreamRecord* EndStreams::remove_oldest(Device device) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = idle_.find({device.kind(), device.index()});
    if (found == idle_.end() || found->second.size() == 0) return nullptr;
    return &found->second.remove(0);
}

void EndStream::put_behind(std::span<const StreamUse> users) const {
    if (users.empty()) return;
    const bool natively = std::ranges::all_of(users, [&](const StreamUse& use) {
        return stream_.device.is_cuda() && use.stream->device.is_cuda() &&
               !use.stream->has(stream_flag::capturing);
    });
    if (natively) try {
            for (const StreamUse& use : users) stream_.backend->wait_use(stream_, use, {});
            return;
        } catch (const UsageError&) {
            // A user is being captured natively. Captured work does not run, so the code below
            // leaves it out.
        }
    auto gathering = std::make_unique<Gathering>(users);
    stream_.backend->wait_completion(stream_, gathering->all, {});
    Gathering::begin_alone(std::move(gathering));
}

}  // namespace heddle::detail
