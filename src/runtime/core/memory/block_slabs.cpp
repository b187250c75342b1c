#include "core/memory/block_slabs.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/fork.hpp"
#include "core/base/spin_lock.hpp"

namespace heddle::detail {

namespace {

/// A hash set with the addresses of slabs. At most a quarter of its slots are used. It is read
/// without a lock, and changed with `slabs_lock` held.
struct SlabTable {
    explicit SlabTable(unsigned bits) : shift(64 - bits), slots(std::size_t{1} << bits) {}

    /// Returns the slot that contains the address, or the free slot where it belongs.
    std::size_t find(std::uintptr_t slab) const noexcept {
        std::size_t i = (slab / sizeof(BlockSlab) * 0x9e3779b97f4a7c15u) >> shift;
        for (;; i = (i + 1) & (slots.size() - 1)) {
            const std::uintptr_t seen = slots[i].load(std::memory_order_relaxed);
            if (seen == slab || seen == 0) return i;
        }
    }
    void put(std::uintptr_t slab) noexcept {
        slots[find(slab)].store(slab, std::memory_order_relaxed);
        ++used;
    }

    unsigned shift;
    std::vector<std::atomic<std::uintptr_t>> slots;  ///< 0 for a free slot
    std::size_t used = 0;
    /// The table that this one replaced. Other threads may still be reading it.
    std::unique_ptr<SlabTable> smaller;
};

constinit SpinLock slabs_lock;
const ForkRegistration block_slabs_registered{ForkOrder::block_slabs, slabs_lock};
/// Never destroyed, because arrays may still be made while the process ends.
constinit std::atomic<SlabTable*> slabs{nullptr};

std::unique_ptr<SlabTable> copy_of(SlabTable* table) {
    if (table == nullptr) return std::make_unique<SlabTable>(6u);
    auto copy = std::make_unique<SlabTable>(64 - table->shift + 1);
    for (const auto& slot : table->slots)
        if (const std::uintptr_t slab = slot.load(std::memory_order_relaxed); slab != 0)
            copy->put(slab);
    copy->smaller.reset(table);
    return copy;
}

}  // namespace

BlockSlab& make_slab() {
    auto made = std::make_unique<BlockSlab>();
    const std::lock_guard lock(slabs_lock);
    SlabTable* table = slabs.load(std::memory_order_relaxed);
    if (table == nullptr || 4 * (table->used + 1) > table->slots.size()) {
        table = copy_of(table).release();
        slabs.store(table, std::memory_order_release);
    }
    table->put(reinterpret_cast<std::uintptr_t>(made.get()));
    return *made.release();
}

bool is_block(const Block* address) noexcept {
    const SlabTable* const table = slabs.load(std::memory_order_acquire);
    const std::uintptr_t slab = reinterpret_cast<std::uintptr_t>(address) & -sizeof(BlockSlab);
    if (table == nullptr || slab == 0) return false;
    return table->slots[table->find(slab)].load(std::memory_order_relaxed) == slab;
}

}  // namespace heddle::detail
