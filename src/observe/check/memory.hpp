// The allocations known to the ordering checker, by number and by address.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "check/history.hpp"

namespace heddle::detail {

struct AllocationTrack {
    std::uint64_t id = 0;
    std::uint64_t begin = 0, end = 0;  ///< equal if the extent is unknown
    SiteId made = 0, freed = 0;
    bool is_freed = false;
    bool is_foreign = false;  ///< represents all memory that heddle does not own
    Epoch freed_at;
    History history;
    /// For each stream, the last position at which used_on() declared uses by plain pointers.
    std::vector<Epoch> declared;

    /// Returns whether heddle knows of this use. heddle waits for all known uses before it frees.
    bool knows(const Mark& use) const noexcept {
        return !use.is_raw || std::any_of(declared.begin(), declared.end(), [&](Epoch until) {
            return until.slot() == use.epoch.slot() && use.epoch.position() <= until.position();
        });
    }
};

class MemoryTable {
public:
    /// When this many freed allocations are known, older ones are forgotten.
    static constexpr std::size_t most_freed = 1024;

    MemoryTable() { foreign_.is_foreign = true; }
    MemoryTable(const MemoryTable&) = delete;
    MemoryTable& operator=(const MemoryTable&) = delete;

    /// Returns the accessed allocation. Memory at an unknown address is foreign.
    AllocationTrack& of(const CheckAccess& access);
    /// Returns the allocation with this number. Returns null if it is unknown.
    const AllocationTrack* find(std::uint64_t id) const {
        const auto found = by_id_.find(id);
        return found != by_id_.end() ? found->second.get() : nullptr;
    }
    /// Returns the allocation at this address, even if it was freed. Returns null if there is none.
    AllocationTrack* at_address(std::uint64_t address);
    /// Adds an allocation. Moves earlier allocations that overlap it to `former`.
    AllocationTrack& allocate(const CheckAccess& access, SiteId made,
                              std::vector<std::unique_ptr<AllocationTrack>>& former);
    void free(AllocationTrack& allocation, SiteId where, Epoch at);
    /// If many accesses or freed allocations are stored, forgets old allocations and the accesses
    /// that the host knows to be complete.
    void forget_covered(const HostFloor& floor);
    std::size_t size() const noexcept { return by_id_.size(); }
    std::size_t freed() const noexcept { return freed_; }

private:
    void remove(AllocationTrack& allocation);

    std::unordered_map<std::uint64_t, std::unique_ptr<AllocationTrack>> by_id_;
    std::map<std::uint64_t, AllocationTrack*> by_address_;  ///< by begin, without overlaps
    AllocationTrack foreign_;
    std::size_t freed_ = 0;
};

}  // namespace heddle::detail
