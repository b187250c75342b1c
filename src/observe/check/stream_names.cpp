#include "check/stream_names.hpp"

#include <algorithm>
#include <vector>

#include "check/words.hpp"
#include "core/base/format.hpp"
#include "core/stream/made_at.hpp"

namespace heddle::detail {

namespace {
constexpr std::size_t most = 4096;
}

void StreamNames::keep(StreamRef stream) {
    const std::uint64_t id = stream.id();
    if (id == last_) return;
    last_ = id;
    if (const auto known = all_.find(id); known != all_.end()) {
        known->second.used = ++uses_;
        return;
    }
    if (all_.size() == most) forget_half();
    const SourceLocation made = made_at(id);
    all_[id] = {stream.name(), stream.device().name(),
                made.line != 0 ? place_text({.name = {}, .file = made.file, .line = made.line})
                               : "",
                ++uses_};
}

void StreamNames::forget_half() {
    std::vector<std::uint64_t> used;
    used.reserve(all_.size());
    for (const auto& [id, known] : all_) used.push_back(known.used);
    const auto middle = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
    std::ranges::nth_element(used, middle);
    std::erase_if(all_, [&](const auto& one) { return one.second.used < *middle; });
}

std::string StreamNames::name(std::uint64_t id) const {
    const auto known = all_.find(id);
    return known != all_.end() ? known->second.name : formatted("stream {}", id);
}

std::string StreamNames::full(std::uint64_t id) const {
    const auto known = all_.find(id);
    if (known == all_.end()) return formatted("stream {}", id);
    return formatted("{} of {}", known->second.name, known->second.device);
}

std::string StreamNames::made(std::uint64_t id) const {
    const auto known = all_.find(id);
    return known != all_.end() ? known->second.made : std::string();
}

}  // namespace heddle::detail
