#include "check/events.hpp"

namespace heddle::detail {

void EventTrack::add(std::uint64_t record, const Moment& moment, SiteId site) {
    by_nodes = {};
    if (records.size() == most_records) records.erase(records.begin());
    records.push_back({record, moment, site});
}

const EventRecord* EventTrack::find(std::uint64_t record) const noexcept {
    for (const EventRecord& one : records)
        if (one.record >= record) return &one;
    return nullptr;
}

SiteId EventTable::record_behind(Epoch epoch) const {
    const EventRecord* first = nullptr;
    all_.for_each([&](const EventTrack& event) {
        for (const EventRecord& one : event.records) {
            if (one.moment.at.slot() != epoch.slot()) continue;
            const Position at = one.moment.at.position();
            if (at >= epoch.position() && (first == nullptr || at < first->moment.at.position()))
                first = &one;
        }
    });
    return first != nullptr ? first->site : 0;
}

EventTies EventTable::ties_of(std::uint64_t id) const {
    const auto found = ties_.find(id);
    return found != ties_.end() ? found->second : EventTies{};
}

}  // namespace heddle::detail
