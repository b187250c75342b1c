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

EventTies EventTable::ties_of(std::uint64_t id) const {
    const auto found = ties_.find(id);
    return found != ties_.end() ? found->second : EventTies{};
}

}  // namespace heddle::detail
