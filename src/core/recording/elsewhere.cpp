#include "core/recording/elsewhere.hpp"

#include <algorithm>

#include "core/stream/registry.hpp"

namespace heddle::detail {

namespace {
/// Returns whether the stream is open, is of this kind of device and is the user's.
bool counts(const StreamRecord& stream, DeviceKind kind) noexcept {
    return !stream.has(stream_flag::dead | stream_flag::forked | stream_flag::internal) &&
           stream.device.kind() == kind;
}
}  // namespace

void Elsewhere::begin(DeviceKind kind) {
    kind_ = kind;
    given_.clear();
    for_each_stream([&](StreamRecord& stream) {
        if (counts(stream, kind)) given_.push_back({stream.id.load(), stream.submissions.load()});
    });
    std::ranges::sort(given_, {}, &Given::id);
    has_begun_ = true;
}

std::string Elsewhere::find(const StreamRecord& without) const {
    std::string name;
    if (!has_begun_) return name;
    for_each_stream([&](StreamRecord& stream) {
        if (!name.empty() || &stream == &without || !counts(stream, kind_)) return;
        const std::uint64_t id = stream.id.load();
        const auto known = std::ranges::lower_bound(given_, id, {}, &Given::id);
        const std::uint64_t before =
            known != given_.end() && known->id == id ? known->submissions : 0;
        if (stream.submissions.load() <= before) return;
        const std::lock_guard lock(stream.failure_mutex);  // guards the name
        if (stream.id.load() == id) name = stream.display_name();
    });
    return name;
}

}  // namespace heddle::detail
