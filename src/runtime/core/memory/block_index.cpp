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

/// The address ranges of arrays, sorted by begin, without overlaps. The range of a freed array
/// stays until update() finds a new array there, or until the array's record is reused. So there
/// are never more ranges than records.
class BlockIndex {
public:
    /// Returns the array that contains the address, or null if there is none.
    Block* find(std::uintptr_t address) noexcept {
        const auto next = ranges_.upper_bound(address);
        if (next == ranges_.begin()) return nullptr;
        const auto found = std::prev(next);
        if (address >= found->second.end) return nullptr;
        if (is_current(found->second)) return found->second.block;
        erase(found);
        return nullptr;
    }

    /// Returns whether an array has a byte in [begin, end).
    bool overlaps(std::uintptr_t begin, std::uintptr_t end) noexcept {
        if (find(begin) != nullptr) return true;
        auto next = ranges_.upper_bound(begin);
        while (next != ranges_.end() && next->first < end) {
            if (is_current(next->second)) return true;
            next = erase(next);
        }
        return false;
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
    Ranges::iterator erase(Ranges::iterator at) noexcept {
        at->second.block->indexed_at = 0;
        return ranges_.erase(at);
    }

    void add(const NewBlock& fresh) {
        Block& block = *fresh.block;
        if (block.indexed_at != 0) erase(ranges_.find(block.indexed_at));
        auto next = ranges_.upper_bound(fresh.begin);
        if (next != ranges_.begin() && std::prev(next)->second.end > fresh.begin) --next;
        while (next != ranges_.end() && next->first < fresh.end) {
            // Two arrays share memory only if it was imported twice. Then either of them may
            // represent it.
            if (is_current(next->second)) return shadowed_.push_back(fresh);
            next = erase(next);
        }
        ranges_.emplace_hint(next, fresh.begin, Range{fresh.end, &block, fresh.serial});
        block.indexed_at = fresh.begin;
    }

    Ranges ranges_;
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

}  // namespace heddle::detail
