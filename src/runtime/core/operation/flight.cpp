#include "core/operation/flight.hpp"

#include <algorithm>

namespace heddle::detail {

// As in core/seam/waited_for.hpp: words are stored with release after the position became 0, and
// loaded with acquire before the position is loaded again.
void FlightRing::put(std::uint64_t position, std::uint64_t submissions,
                     const FlightNote& note) noexcept {
    Slot& slot = slots_[position % size];
    const auto store = [](auto& word, auto value) { word.store(value, std::memory_order_release); };
    store(slot.position, std::uint64_t{0});
    store(slot.name, note.name);
    store(slot.file, note.where.file);
    store(slot.line_and_kinds,
          std::uint64_t{note.where.line} << 32 | std::uint64_t{note.share & 0xff} << 24 |
              std::min<std::uint64_t>(note.views, 0xff) << 16 |
              static_cast<std::uint64_t>(note.mode) << 8 | static_cast<std::uint64_t>(note.kind));
    store(slot.submissions, submissions);
    store(slot.other, note.other);
    store(slot.event, note.event.event);
    store(slot.record_and_collective, note.event.record << 32 | (note.collective & 0xffffffff));
    store(slot.position, position);
}

std::vector<FlightEntry> FlightRing::read(std::uint64_t after) const {
    std::vector<FlightEntry> all;
    all.reserve(size);
    const auto load = [](const auto& word) { return word.load(std::memory_order_acquire); };
    for (const Slot& slot : slots_) {
        FlightEntry one;
        one.position = load(slot.position);
        if (one.position <= after) continue;
        one.name = load(slot.name);
        const std::uint64_t kinds = load(slot.line_and_kinds);
        one.where = {load(slot.file), static_cast<unsigned>(kinds >> 32)};
        one.share = kinds >> 24 & 0xff;
        one.views = kinds >> 16 & 0xff;
        one.mode = static_cast<OpMode>(kinds >> 8 & 0xff);
        one.kind = static_cast<OpKind>(kinds & 0xff);
        one.submissions = load(slot.submissions);
        one.other = load(slot.other);
        const std::uint64_t both = load(slot.record_and_collective);
        one.event = {load(slot.event), both >> 32};
        one.collective = both & 0xffffffff;
        if (load(slot.position) == one.position) all.push_back(one);
    }
    std::ranges::sort(all, {}, &FlightEntry::position);
    return all;
}

}  // namespace heddle::detail
