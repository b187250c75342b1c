#include "core/memory/foreign_owners.hpp"

#include <mutex>

#include "core/base/fork.hpp"
#include "core/base/spin_lock.hpp"
#include "core/memory/block_index.hpp"

namespace heddle::detail {

namespace {
constinit SpinLock owners_lock;
const ForkRegistration foreign_owners_registered{ForkOrder::foreign_owners, owners_lock};
}  // namespace

bool drop_foreign_owner(Block& block) noexcept {
    const std::lock_guard lock(owners_lock);
    if (block.owners.load(std::memory_order_acquire) != 1) {
        block.owners.fetch_sub(1, std::memory_order_acq_rel);
        return false;
    }
    block.alive.store(false, std::memory_order_release);
    return true;
}

Block* share_of(const void* data) {
    Block* const block = find_block(data);
    if (block == nullptr) return nullptr;
    const std::uint64_t serial = allocation_of(block);
    // A block of foreign memory is marked as dead only with the lock held. So a block that is alive
    // here stays alive.
    const std::lock_guard lock(owners_lock);
    if (!block->alive.load(std::memory_order_acquire) || serial == 0 ||
        allocation_of(block) != serial || !holds(*block, data, 1))
        return nullptr;
    share(*block);
    return block;
}

}  // namespace heddle::detail
