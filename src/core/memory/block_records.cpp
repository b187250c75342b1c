#include "core/memory/block_records.hpp"

#include <mutex>
#include <utility>

#include "core/base/fork.hpp"
#include "core/base/ids.hpp"
#include "core/base/spin_lock.hpp"
#include "core/memory/block_slabs.hpp"
#include "core/memory/users.hpp"

namespace heddle::detail {

namespace {

/// How many records rest, because a view that has outlived its array is told apart only until
/// another array has the record. More would be pushed out of the processor's first cache.
constexpr std::size_t most_resting = 32;

struct BlockPool {
    SpinLock lock;  ///< guards both lists, and changes to serials
    /// Free records, in the order in which they were given back, linked through `more_users`.
    Block* oldest = nullptr;
    Block* newest = nullptr;
    std::size_t count = 0;
    /// Allocations that the index of addresses does not have. Changed with the lock held.
    std::atomic<Block*> listed{nullptr};
};

constinit BlockPool pool;
const ForkRegistration blocks_registered{ForkOrder::blocks, pool.lock};

/// Call with the lock held, as the next three.
void add_free(Block& block) noexcept {
    block.more_users.store(nullptr, std::memory_order_relaxed);
    if (pool.count++ == 0) pool.oldest = &block;
    else pool.newest->more_users.store(&block, std::memory_order_relaxed);
    pool.newest = &block;
}
void list(Block& block) noexcept {
    if (block.is_listed) return;
    block.is_listed = true;
    block.next_listed = pool.listed.load(std::memory_order_relaxed);
    pool.listed.store(&block, std::memory_order_relaxed);
}
Block& begin_use(Block& block) noexcept {
    set_memory(block, nullptr, 0);
    block.piece = nullptr;
    block.serial.store(next_id(), std::memory_order_relaxed);
    list(block);
    return block;
}

}  // namespace

Block& take_block() {
    free_unfreed_blocks();
    {
        const std::lock_guard lock(pool.lock);
        if (pool.count > most_resting) {
            Block& block = *pool.oldest;
            pool.oldest = static_cast<Block*>(block.more_users.load(std::memory_order_relaxed));
            --pool.count;
            block.more_users.store(nullptr, std::memory_order_relaxed);
            return begin_use(block);
        }
    }
    BlockSlab& slab = make_slab();
    const std::lock_guard lock(pool.lock);
    for (int i = 1; i < BlockSlab::size; ++i) add_free(slab.blocks[i]);
    return begin_use(slab.blocks[0]);
}

void give_block(Block& block) noexcept {
    forget_users(block);
    block.origin = MemoryOrigin::pool;
    block.offset = 0;
    const std::lock_guard lock(pool.lock);
    // With the lock held: take_new_blocks() reads it. The memory stays known, so that a view of it
    // is told apart from other bytes.
    block.serial.store(0, std::memory_order_relaxed);
    add_free(block);
}

bool has_new_blocks() noexcept { return pool.listed.load(std::memory_order_relaxed) != nullptr; }

std::size_t take_new_blocks(std::span<NewBlock> to, Block*& later) noexcept {
    std::size_t count = 0;
    const std::lock_guard lock(pool.lock);
    Block* next = pool.listed.load(std::memory_order_relaxed);
    // At most as many as there is room for, so that makers of arrays do not wait for long.
    for (std::size_t seen = 0; seen < to.size() && next != nullptr; ++seen) {
        Block& block = *std::exchange(next, next->next_listed);
        const std::uint64_t serial = block.serial.load(std::memory_order_relaxed);
        if (serial != 0 && !block.alive.load(std::memory_order_acquire)) {
            block.next_listed = std::exchange(later, &block);
            continue;
        }
        block.is_listed = false;
        if (serial == 0 || block.data == nullptr) continue;
        const auto begin = reinterpret_cast<std::uintptr_t>(block.data);
        to[count++] = {&block, serial, begin, begin + block.bytes};
    }
    pool.listed.store(next, std::memory_order_relaxed);
    return count;
}

void list_again(Block* chain) noexcept {
    const std::lock_guard lock(pool.lock);
    while (chain != nullptr) {
        Block& block = *std::exchange(chain, chain->next_listed);
        block.is_listed = false;
        if (block.serial.load(std::memory_order_relaxed) != 0) list(block);
    }
}

void list_again(const NewBlock& one) noexcept {
    const std::lock_guard lock(pool.lock);
    if (one.block->serial.load(std::memory_order_relaxed) == one.serial) list(*one.block);
}

}  // namespace heddle::detail
