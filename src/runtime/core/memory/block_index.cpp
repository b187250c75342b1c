#include "core/memory/block_index.hpp"

#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"
#include "core/base/spin_lock.hpp"
#include "core/memory/block_records.hpp"

namespace heddle::detail {

namespace {

/// The address ranges of arrays, and those of raw memory, each sorted by begin, without overlaps.
/// The range of a freed array stays until update() finds a new array there, or until the array's
/// record is reused. So there are never more ranges than records.
class BlockIndex {
public:
    /// Returns the array that contains the address, else the raw memory that does. Returns null if
    /// there is none.
    Block* find(std::uintptr_t address) noexcept {
        Block* const array = find(arrays_, address);
        return array != nullptr ? array : find_raw(address);
    }
    Block* find_raw(std::uintptr_t address) noexcept { return find(raw_, address); }

    /// Returns whether an array has a byte in [begin, end).
    bool overlaps(std::uintptr_t begin, std::uintptr_t end) noexcept {
        if (find(arrays_, begin) != nullptr) return true;
        auto next = arrays_.upper_bound(begin);
        while (next != arrays_.end() && next->first < end) {
            if (is_current(next->second)) return true;
            next = erase(arrays_, next);
        }
        return false;
    }

    /// Moves the range of a new block, which update() has added, to those of raw memory.
    void mark_raw(Block& block) noexcept {
        const auto found = arrays_.find(block.indexed_at);
        if (found == arrays_.end() || found->second.block != &block) return;
        // Its memory is new, so ranges of raw memory there are those of freed memory.
        auto next = first_overlap(raw_, found->first);
        while (next != raw_.end() && next->first < found->second.end) next = erase(raw_, next);
        raw_.insert(arrays_.extract(found));
    }

    /// Adds all new allocations.
    void update() {
        NewBlock some[64];
        Block* later = nullptr;
        std::size_t count = 0, done = 0;
        try {
            while (has_new_blocks()) {
                count = take_new_blocks(some, later);
                for (done = 0; done < count; ++done) add(some[done]);
            }
        } catch (...) {
            while (done < count) list_again(some[done++]);
            list_again(later);
            throw;
        }
        list_again(later);
        for (const NewBlock& one : shadowed_) list_again(one);
        shadowed_.clear();
    }

private:
    struct Range {
        std::uintptr_t end;
        Block* block;
        std::uint64_t serial;
    };
    using Ranges = std::map<std::uintptr_t, Range>;

    static bool is_current(const Range& range) noexcept {
        return range.block->alive.load(std::memory_order_acquire) &&
               range.block->serial.load(std::memory_order_relaxed) == range.serial;
    }
    static Ranges::iterator erase(Ranges& ranges, Ranges::iterator at) noexcept {
        at->second.block->indexed_at = 0;
        return ranges.erase(at);
    }
    /// Returns the first range that ends behind the address.
    static Ranges::iterator first_overlap(Ranges& ranges, std::uintptr_t address) noexcept {
        const auto next = ranges.upper_bound(address);
        if (next == ranges.begin() || std::prev(next)->second.end <= address) return next;
        return std::prev(next);
    }
    static Block* find(Ranges& ranges, std::uintptr_t address) noexcept {
        const auto found = first_overlap(ranges, address);
        if (found == ranges.end() || found->first > address) return nullptr;
        if (is_current(found->second)) return found->second.block;
        erase(ranges, found);
        return nullptr;
    }

    /// Erases the range of an earlier allocation with the same record.
    void erase_earlier(const Block& block) noexcept {
        for (Ranges* const ranges : {&arrays_, &raw_}) {
            const auto found = ranges->find(block.indexed_at);
            if (found == ranges->end() || found->second.block != &block) continue;
            erase(*ranges, found);
            return;
        }
    }
    void add(const NewBlock& fresh) {
        Block& block = *fresh.block;
        if (block.indexed_at != 0) erase_earlier(block);
        auto next = first_overlap(arrays_, fresh.begin);
        while (next != arrays_.end() && next->first < fresh.end) {
            // Two arrays share memory only if it was imported twice. Then either of them may
            // represent it.
            if (is_current(next->second)) return shadowed_.push_back(fresh);
            next = erase(arrays_, next);
        }
        arrays_.emplace_hint(next, fresh.begin, Range{fresh.end, &block, fresh.serial});
        block.indexed_at = fresh.begin;
    }

    Ranges arrays_;
    Ranges raw_;
    /// Arrays that overlap an indexed one; added again by the next update.
    std::vector<NewBlock> shadowed_;
};

constinit SpinLock index_lock;
const ForkRegistration block_index_registered{ForkOrder::block_index, index_lock};
constinit MadeOnce<BlockIndex> index;

}  // namespace

Block* find_block(const void* data) {
    const std::lock_guard lock(index_lock);
    BlockIndex& blocks = index.get();
    if (has_new_blocks()) blocks.update();
    return blocks.find(reinterpret_cast<std::uintptr_t>(data));
}

bool overlaps_block(const void* data, std::size_t bytes) {
    const std::lock_guard lock(index_lock);
    BlockIndex& blocks = index.get();
    if (has_new_blocks()) blocks.update();
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    return blocks.overlaps(begin, begin + bytes);
}

void mark_raw(Block& block) {
    const std::lock_guard lock(index_lock);
    BlockIndex& blocks = index.get();
    if (has_new_blocks()) blocks.update();
    blocks.mark_raw(block);
}

Block* find_raw_block(const void* data) {
    const std::lock_guard lock(index_lock);
    BlockIndex& blocks = index.get();
    if (has_new_blocks()) blocks.update();
    return blocks.find_raw(reinterpret_cast<std::uintptr_t>(data));
}

}  // namespace heddle::detail
