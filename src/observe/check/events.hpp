// The known records of events, by number.
#pragma once

#include <unordered_map>
#include <vector>

#include "check/finding.hpp"
#include "check/recent.hpp"

namespace heddle::detail {

/// One record of an event.
struct EventRecord {
    std::uint64_t record = 0;
    Moment moment;
    SiteId site = 0;
};

struct EventTrack {
    static constexpr std::size_t most_records = 4;
    std::vector<EventRecord> records;  ///< the newest records, oldest first
    Clock by_nodes;                    ///< work that graph nodes recorded since the newest record

    template <class F> void each_moment(F&& f) const {
        for (const EventRecord& one : records) f(one.moment);
        f(Moment{by_nodes, {}});
    }
    void add(std::uint64_t record, const Moment& moment, SiteId site);
    /// Returns the record with this number. If it was forgotten, returns the next newer known
    /// record. Returns null if there is none.
    const EventRecord* find(std::uint64_t record) const noexcept;
    /// Returns whether the record is newer than all known ones.
    bool is_newer(std::uint64_t record) const noexcept {
        return records.empty() || record > records.back().record;
    }
};

/// Ways in which an event may create an order that heddle cannot observe.
struct EventTies {
    SiteId leak = 0;  ///< handed out, exported or imported here
    bool is_exported = false;
    bool is_imported = false;
};

/// The most events whose records are kept; see Recent.
inline constexpr std::size_t most_events = 1024;

class EventTable {
public:
    EventTrack* find(std::uint64_t id) { return all_.find(id); }
    EventTrack& at(std::uint64_t id, const HostFloor& floor) { return all_.at(id, floor); }
    const Clock& forgotten() const noexcept { return all_.forgotten(); }
    EventTies& tie(std::uint64_t id) { return ties_[id]; }
    EventTies ties_of(std::uint64_t id) const;
    /// Returns the place of the first known record on the epoch's slot at the epoch's position or
    /// later. Returns 0 if there is none.
    SiteId record_behind(Epoch epoch) const;
    std::size_t size() const noexcept { return all_.size(); }

private:
    Recent<EventTrack> all_{most_events};
    std::unordered_map<std::uint64_t, EventTies> ties_;
};

}  // namespace heddle::detail
