#include "core/memory/block_records.hpp"

#include <bit>
#include <iterator>
#include <mutex>
#include <utility>

#include "core/base/fork.hpp"
#include "core/base/ids.hpp"
#include "core/base/spin_lock.hpp"
#include "core/memory/block_slabs.hpp"
#include "core/memory/users.hpp"

namespace heddle::detail {

namespace {

/// While at most this many records of a pool are free, the pool does not reuse them. A view that
/// outlives its array is detected only until the array's record is reused. More free records would
/// not fit in the processor's first-level cache.
constexpr std::size_t most_resting = 32;

/// The records that some of the threads use. A freed record returns to its own pool, whichever
/// thread frees it. So no pool runs empty while another pool grows.
struct alignas(128) BlockPool {
    SpinLock lock;  ///< guards the other members, and changes to serials
    /// Free records, in the order in which they were freed, linked through `more_users`.
    Block* oldest = nullptr;
    Block* newest = nullptr;
    std::size_t count = 0;
    Block* listed = nullptr;  ///< allocations that are not in the index of addresses yet

    /// Adds a free record. Call this function, and the next three, with the lock held.
    void add_free(Block& block) noexcept {
        block.more_users.store(nullptr, std::memory_order_relaxed);
        if (count++ == 0) oldest = &block;
        else newest->more_users.store(&block, std::memory_order_relaxed);
        newest = &block;
    }
    void list(Block& block) noexcept;
    Block& begin_use(Block& block) noexcept;
    /// Returns a free record. Returns null if at most `most_resting` are free.
    Block* take_free() noexcept {
        if (count <= most_resting) return nullptr;
        Block& block = *oldest;
        oldest = static_cast<Block*>(block.more_users.load(std::memory_order_relaxed));
        --count;
        block.more_users.store(nullptr, std::memory_order_relaxed);
        return &begin_use(block);
    }
};

constinit BlockPool pools[32];
static_assert(std::size(pools) == 32);
/// One bit for each pool that has listed allocations. A pool's bit is changed with its lock held.
alignas(128) constinit std::atomic<std::uint32_t> with_listed{0};

std::uint32_t bit_of(const BlockPool& pool) noexcept { return 1u << (&pool - pools); }

const ForkRegistration blocks_registered{ForkOrder::blocks,
                                         {pools,
                                          [](void*) {
                                              for (BlockPool& pool : pools) pool.lock.lock();
                                          },
                                          [](void*) {
                                              for (BlockPool& pool : pools) pool.lock.unlock();
                                          }}};

BlockPool& pool_of(const Block& block) noexcept { return pools[block.pool]; }

void BlockPool::list(Block& block) noexcept {
    if (block.is_listed) return;
    block.is_listed = true;
    block.next_listed = std::exchange(listed, &block);
    if (const auto bit = bit_of(*this); !(with_listed.load(std::memory_order_relaxed) & bit))
        with_listed.fetch_or(bit, std::memory_order_relaxed);
}
Block& BlockPool::begin_use(Block& block) noexcept {
    set_memory(block, nullptr, 0);
    block.pooled = nullptr;
    block.serial.store(next_id(), std::memory_order_relaxed);
    list(block);
    return block;
}

}  // namespace

Block& take_block() {
    free_unfreed_blocks();
    const auto number = static_cast<std::uint8_t>(this_thread_number() % std::size(pools));
    BlockPool& pool = pools[number];
    {
        const std::lock_guard lock(pool.lock);
        if (Block* const block = pool.take_free()) return *block;
    }
    BlockSlab& slab = make_slab();
    for (Block& block : slab.blocks) block.pool = number;
    const std::lock_guard lock(pool.lock);
    for (int i = 1; i < BlockSlab::size; ++i) pool.add_free(slab.blocks[i]);
    return pool.begin_use(slab.blocks[0]);
}

void give_block(Block& block) noexcept {
    forget_users(block);
    block.origin = MemoryOrigin::pool;
    block.offset = 0;
    BlockPool& pool = pool_of(block);
    const std::lock_guard lock(pool.lock);
    // Written with the lock held, because take_new_blocks() reads it. The address and the size
    // remain, so that an outdated view of the memory can be recognised.
    block.serial.store(0, std::memory_order_relaxed);
    pool.add_free(block);
}

bool has_new_blocks() noexcept { return with_listed.load(std::memory_order_relaxed) != 0; }

std::size_t take_new_blocks(std::span<NewBlock> to, Block*& later) noexcept {
    std::size_t count = 0, seen = 0;
    std::uint32_t left = with_listed.load(std::memory_order_relaxed);
    for (; left != 0 && seen < to.size(); left &= left - 1) {
        BlockPool& pool = pools[std::countr_zero(left)];
        const std::lock_guard lock(pool.lock);
        // Takes only as many as fit in `to`, so that threads that make arrays do not wait for the
        // lock for long.
        for (; seen < to.size() && pool.listed != nullptr; ++seen) {
            Block& block = *std::exchange(pool.listed, pool.listed->next_listed);
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
        if (pool.listed == nullptr) with_listed.fetch_and(~bit_of(pool), std::memory_order_relaxed);
    }
    return count;
}

void list_again(Block* chain) noexcept {
    while (chain != nullptr) {
        Block& block = *std::exchange(chain, chain->next_listed);
        BlockPool& pool = pool_of(block);
        const std::lock_guard lock(pool.lock);
        block.is_listed = false;
        if (block.serial.load(std::memory_order_relaxed) != 0) pool.list(block);
    }
}

void list_again(const NewBlock& one) noexcept {
    BlockPool& pool = pool_of(*one.block);
    const std::lock_guard lock(pool.lock);
    if (one.block->serial.load(std::memory_order_relaxed) == one.serial) pool.list(*one.block);
}

}  // namespace heddle::detail
