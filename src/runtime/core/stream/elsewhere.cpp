#include "core/stream/elsewhere.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

namespace {
/// The state of an open Elsewhere. Stored in the thread and not in the Elsewhere, so that an
/// Elsewhere that ends on another thread leaves no dangling pointer. Streams' states are never
/// freed.
struct Lookout {
    std::uint64_t serial = 0;  ///< unique in this process
    StreamRecord* stream = nullptr;
    StreamRecord* other = nullptr;     ///< the first stream that received work
    std::uint64_t id = 0, before = 0;  ///< the id of `other`, and its submissions before that work
};
/// If more lookouts than this are nested, the innermost ones replace the outermost.
constinit thread_local std::array<Lookout, 8> kept{};
constinit thread_local std::size_t next = 0;
constinit std::atomic<std::uint64_t> serials{0};

/// Returns whether a stream is open, is of this kind of device and is the user's.
bool counts(const StreamRecord& stream, DeviceKind kind) noexcept {
    return !stream.has(stream_flag::dead | stream_flag::forked | stream_flag::internal) &&
           stream.device.kind() == kind;
}

/// Returns whether any work was enqueued: the call may have failed, or had no indices to launch.
bool was_given(const Lookout& one) noexcept {
    return one.other != nullptr && one.other->submissions.load() > one.before;
}
}  // namespace

void note_elsewhere(StreamState& state) noexcept {
    if (thread_states.in_host_function) return;
    StreamRecord& stream = record_of(state);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        Lookout& one = kept[i];
        if ((lookouts >> i & 1) == 0) continue;
        if (was_given(one)) {
            lookouts &= ~(1u << i);
        } else if (&stream != one.stream && counts(stream, one.stream->device.kind())) {
            one.other = &stream;
            one.id = stream.id.load();
            one.before = stream.submissions.load();
        }
    }
}

void Elsewhere::begin(StreamRecord& stream) noexcept {
    end();
    serial_ = ++serials;
    const std::size_t i = next++ % kept.size();
    kept[i] = {.serial = serial_, .stream = &stream};
    lookouts |= 1u << i;
}

std::string Elsewhere::find() const {
    std::string name;
    const auto mine = std::ranges::find(kept, serial_, &Lookout::serial);
    if (serial_ == 0 || mine == kept.end() || !was_given(*mine)) return name;
    const std::lock_guard lock(mine->other->failure_mutex);  // guards the name
    if (mine->other->id.load() == mine->id) name = mine->other->display_name();
    return name;
}

void Elsewhere::end() noexcept {
    const std::uint64_t serial = std::exchange(serial_, 0);
    const auto mine = std::ranges::find(kept, serial, &Lookout::serial);
    if (serial == 0 || mine == kept.end()) return;
    lookouts &= ~(1u << (mine - kept.begin()));
    *mine = {};
}

}  // namespace heddle::detail
