#include "check/memory.hpp"

#include <algorithm>
#include <iterator>

namespace heddle::detail {

namespace {
constexpr std::size_t many_foreign_cells = 4096;
}

AllocationTrack& MemoryTable::of(const CheckAccess& access) {
    if (access.allocation == 0) {
        // If the array was freed, its memory may now belong to an unknown owner.
        AllocationTrack* const found = at_address(access.address());
        return found != nullptr && !found->is_freed ? *found : foreign_;
    }
    std::unique_ptr<AllocationTrack>& track = by_id_[access.allocation];
    if (track == nullptr) {  // made before the checker began
        track = std::make_unique<AllocationTrack>();
        track->id = access.allocation;
    }
    return *track;
}

AllocationTrack* MemoryTable::at_address(std::uint64_t address) {
    auto at = by_address_.upper_bound(address);
    if (at == by_address_.begin()) return nullptr;
    --at;
    return address < at->second->end ? at->second : nullptr;
}

AllocationTrack& MemoryTable::allocate(const CheckAccess& access, SiteId made,
                                       std::vector<std::unique_ptr<AllocationTrack>>& former) {
    const std::uint64_t end = access.end();
    auto at = by_address_.lower_bound(access.address());
    if (at != by_address_.begin() && std::prev(at)->second->end > access.address()) --at;
    while (at != by_address_.end() && at->first < end) {
        AllocationTrack& old = *at->second;
        at = by_address_.erase(at);
        const auto owner = by_id_.find(old.id);
        if (old.is_freed) --freed_;
        former.push_back(std::move(owner->second));
        by_id_.erase(owner);
    }
    std::unique_ptr<AllocationTrack>& track = by_id_[access.allocation];
    track = std::make_unique<AllocationTrack>();
    track->id = access.allocation;
    track->begin = access.address();
    track->end = end;
    track->made = made;
    if (access.bytes != 0) by_address_.emplace(access.address(), track.get());
    return *track;
}

void MemoryTable::free(AllocationTrack& allocation, SiteId where, Epoch at) {
    if (allocation.is_freed || allocation.is_foreign) return;
    allocation.is_freed = true;
    allocation.freed = where;
    allocation.freed_at = at;
    ++freed_;
}

void MemoryTable::remove(AllocationTrack& allocation) {
    const auto at = by_address_.find(allocation.begin);
    if (at != by_address_.end() && at->second == &allocation) by_address_.erase(at);
    if (allocation.is_freed) --freed_;
}

void MemoryTable::forget_covered(const HostFloor& floor) {
    if (foreign_.history.cells() > many_foreign_cells) {
        foreign_.history.forget_covered(floor);
        if (foreign_.history.cells() > many_foreign_cells) foreign_.history = {};
    }
    if (freed_ < most_freed) return;
    // Forgets the older half of the freed allocations, including allocations with pending work.
    // This may hide races, but never causes false reports.
    std::vector<AllocationTrack*> freed;
    for (const auto& [id, track] : by_id_)
        if (track->is_freed) freed.push_back(track.get());
    const auto middle = freed.begin() + static_cast<std::ptrdiff_t>(freed.size() / 2);
    std::nth_element(freed.begin(), middle, freed.end(),
                     [](const auto* a, const auto* b) { return a->id < b->id; });
    const std::uint64_t limit = (*middle)->id;
    std::erase_if(by_id_, [&](const auto& entry) {
        AllocationTrack& track = *entry.second;
        if (!track.is_freed || (track.id >= limit && !floor.covers(track.freed_at))) return false;
        remove(track);
        return true;
    });
}

}  // namespace heddle::detail
