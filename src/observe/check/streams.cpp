#include "check/streams.hpp"

#include <algorithm>
#include <utility>

namespace heddle::detail {

void StreamTrack::note(std::uint64_t other, const KnownOrder& order) {
    if (order.reason == WaitReason::fork) fork = order;
    for (OrderNote& one : notes) {
        if (one.other != other) continue;
        one.order = order;
        return;
    }
    if (notes.size() == most_notes) notes.erase(notes.begin());
    notes.push_back({other, order});
}

void StreamTrack::keep_stage(Position from, const HostFloor& floor) {
    if (stages.back().clock.is_same(clock)) return;
    if (stages.size() == most_stages) {
        // Operations that the host knows to be complete need no clock.
        const Position over = floor.at(slot);
        auto first = stages.begin() + 1;
        while (first + 1 != stages.end() && (first + 1)->from <= over) ++first;
        stages.erase(stages.begin(), first);
    }
    stages.push_back({from, clock});
}

const Clock& StreamTrack::clock_at(Position at) const noexcept {
    if (at >= last) return clock;
    const auto newest = std::find_if(stages.rbegin(), stages.rend(),
                                     [at](const ClockStage& one) { return one.from <= at; });
    return newest != stages.rend() ? newest->clock : stages.front().clock;
}

void StreamTrack::note(GraphLaunch launch) {
    if (launches.size() < most_launches) launches.push_back(std::move(launch));
    else launches[launched % most_launches] = std::move(launch);
    ++launched;
}

const GraphLaunch* StreamTrack::launch_at(Position at) const noexcept {
    const auto found = std::ranges::find(launches, at, &GraphLaunch::at);
    return found != launches.end() ? &*found : nullptr;
}

StreamTrack& StreamTable::at(std::uint64_t id) {
    if (StreamTrack* const known = find(id)) return *known;
    auto made = std::make_unique<StreamTrack>();
    made->id = id;
    made->slot = take_slot();
    made->base = made->last = reached_[made->slot];
    by_slot_[made->slot] = made.get();
    return *by_id_.emplace(id, std::move(made)).first->second;
}

StreamTrack* StreamTable::find(std::uint64_t id) noexcept {
    if (newest_ != nullptr && newest_->id == id) return newest_;
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return nullptr;
    return newest_ = found->second.get();
}

StreamTrack* StreamTable::by_slot(Slot slot) const noexcept {
    return slot < by_slot_.size() ? by_slot_[slot] : nullptr;
}

void StreamTable::forget_covered(const HostFloor& floor) {
    if (by_id_.size() < many_) return;
    newest_ = nullptr;
    const Clock nothing;
    const auto is_over = [&](const StreamTrack& track) {
        const bool is_plain = track.leak == 0 && track.poisoned == 0 && track.open_collectives == 0;
        return is_plain && floor.covers(Epoch(track.slot, track.last)) &&
               nothing.covers(track.clock, floor);
    };
    std::erase_if(by_id_, [&](const auto& entry) {
        const StreamTrack& track = *entry.second;
        if (!is_over(track)) return false;
        reached_[track.slot] = track.last;
        by_slot_[track.slot] = nullptr;
        free_.push_back(track.slot);
        return true;
    });
    many_ = std::max<std::size_t>(32, 2 * by_id_.size());
}

Slot StreamTable::take_slot() {
    if (!free_.empty()) {
        const Slot slot = free_.back();
        free_.pop_back();
        return slot;
    }
    // Streams that share a slot count as ordered.
    if (by_slot_.size() == Epoch::most_slots) return share_slot();
    by_slot_.push_back(nullptr);
    reached_.push_back(0);
    return static_cast<Slot>(by_slot_.size() - 1);
}

Slot StreamTable::share_slot() {
    const Slot slot = 1 + shared_++ % (Epoch::most_slots - 1);
    if (const StreamTrack* const before = by_slot_[slot]) reached_[slot] = before->last;
    return slot;
}

}  // namespace heddle::detail
