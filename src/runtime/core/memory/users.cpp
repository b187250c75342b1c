#include "core/memory/users.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>

#include "core/base/fork.hpp"
#include "core/stream/registry.hpp"

namespace heddle::detail {

namespace {

/// The users of a block, except for the first few: a hash set of keys that is at most half full. It
/// is read without a lock, and changed with `users_lock` held. A table that became too small is
/// kept until the block is freed, because another thread may still be reading it.
struct UserTable {
    explicit UserTable(std::size_t slots) : keys(slots), uses(slots + Block::inline_users) {}

    std::vector<std::atomic<std::uint64_t>> keys;  ///< 0 for a free slot
    std::vector<StreamUse> uses;                   ///< space that final_users() fills
    std::size_t used = 0;
    std::unique_ptr<UserTable> older;

    std::size_t slot_of(std::uint64_t key) const noexcept {
        return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 32) & (keys.size() - 1);
    }
    struct Search {
        bool found;
        std::size_t read;  ///< how many slots were read
    };
    Search find(std::uint64_t key) const noexcept {
        for (std::size_t i = slot_of(key), read = 1;; i = (i + 1) & (keys.size() - 1), ++read) {
            const std::uint64_t seen = keys[i].load(std::memory_order_relaxed);
            if (seen == key) return {true, read};
            if (seen == 0) return {false, read};
        }
    }
    bool has(std::uint64_t key) const noexcept { return find(key).found; }
    void put(std::uint64_t key) noexcept {
        std::size_t i = slot_of(key);
        while (keys[i].load(std::memory_order_relaxed) != 0) i = (i + 1) & (keys.size() - 1);
        keys[i].store(key, std::memory_order_release);
        ++used;
    }
};

UserTable* table_of(const Block& block) noexcept {
    return static_cast<UserTable*>(block.more_users.load(std::memory_order_acquire));
}

/// Guards changes to the users of all blocks. It is acquired when a stream first uses a block.
constinit SpinLock users_lock;
const ForkRegistration block_users_registered{ForkOrder::block_users, users_lock};

/// Returns whether the user can be removed, because neither a wait nor a failure depends on it.
bool is_over(std::uint64_t key) noexcept {
    return has_ended(key) && failure_left_by(key) == nullptr;
}

/// Adds the key to the block's table. Before the table grows, removes users whose work has ended.
/// Call it with `users_lock` held.
void add_to_table(Block& block, std::uint64_t key) {
    constexpr std::size_t smallest = 16;
    UserTable* table = table_of(block);
    if (table != nullptr && table->has(key)) return;
    if (table == nullptr || 2 * (table->used + 1) > table->keys.size()) {
        std::vector<std::uint64_t> kept;
        if (table != nullptr)
            for (const auto& slot : table->keys)
                if (const std::uint64_t one = slot.load(std::memory_order_relaxed);
                    one != 0 && !is_over(one))
                    kept.push_back(one);
        if (table != nullptr && 4 * (kept.size() + 1) <= table->keys.size()) {
            // A thread that is just reading the table may miss its key. It then acquires the lock.
            for (auto& slot : table->keys) slot.store(0, std::memory_order_relaxed);
            table->used = 0;
        } else {
            const std::size_t slots = std::bit_ceil(std::max(smallest, 4 * (kept.size() + 1)));
            auto fresh = std::make_unique<UserTable>(slots);
            fresh->older.reset(table);
            table = fresh.release();
        }
        for (const std::uint64_t one : kept) table->put(one);
    }
    table->put(key);
    block.more_users.store(table, std::memory_order_release);
}

}  // namespace

void add_user(Block& block, StreamState& stream, bool writes) try {
    const std::uint64_t key = stream.key.load(std::memory_order_relaxed);
    if (const UserTable* table = table_of(block); table != nullptr && table->has(key)) return;
    const std::lock_guard lock(users_lock);
    const auto key_at = [&](int i) { return block.users[i].load(std::memory_order_relaxed); };
    int at = 0;  // the key's own slot; otherwise the first free one
    while (at < Block::inline_users && key_at(at) != key) ++at;
    const bool is_known = at < Block::inline_users;
    if (!is_known) at = 0;
    while (!is_known && at < Block::inline_users && key_at(at) != 0 && !is_over(key_at(at))) ++at;
    if (at == Block::inline_users) return add_to_table(block, key);
    const unsigned bit = 1u << at, all = block.writers.load(std::memory_order_relaxed);
    const unsigned others = is_known          ? all
                            : key_at(at) == 0 ? all & ~bit
                                              : (all & ~bit) | lost_users;
    block.writers.store(static_cast<std::uint8_t>(writes ? others | bit : others),
                        std::memory_order_relaxed);
    block.users[at].store(key, std::memory_order_release);
} catch (...) {
    rethrow_as_error("", {});  // the name of the calling function is not available here
}

bool has_ended_users(const Block& block) noexcept {
    if ((block.writers.load(std::memory_order_relaxed) & lost_users) != 0) return true;
    if (table_of(block) != nullptr) return true;
    return std::ranges::any_of(block.users, [](const std::atomic<std::uint64_t>& user) {
        const std::uint64_t key = user.load(std::memory_order_acquire);
        return key != 0 && has_ended(key);
    });
}

bool is_void_user(std::uint64_t key) noexcept {
    const StreamUse use = use_of(key);
    const std::uint64_t gone_at = use.stream->gone_at.load(std::memory_order_acquire);
    if (gone_at == 0 || use.stream->device.is_cuda() || !use.stream->has(stream_flag::poisoned))
        return false;
    const Failure failure = use.stream->known_failure();
    return failure != nullptr && use.is_same() && is_void(*failure, use.stream->device, gone_at);
}

Users::Users(const Block& block) {
    for (const auto& user : block.users)
        if (const std::uint64_t key = user.load(std::memory_order_acquire);
            key != 0 && !has_ended(key) && !is_void_user(key))
            few_[count_++] = use_of(key);
    const UserTable* const table = table_of(block);
    if (table == nullptr) [[likely]]
        return;
    many_.assign(few_, few_ + count_);
    const std::lock_guard lock(users_lock);
    for (const auto& slot : table_of(block)->keys)
        if (const std::uint64_t key = slot.load(std::memory_order_relaxed);
            key != 0 && !has_ended(key) && !is_void_user(key))
            many_.push_back(use_of(key));
}

namespace {
/// Returns the user's failure if it affects the memory. `writes` is true if the user writes the
/// memory. If a user only read the memory and has ended, its failure is unavailable, and has no
/// effect.
Failure failure_of_user(std::uint64_t key, bool writes) noexcept {
    const StreamUse use = use_of(key);
    if (use.stream->has(stream_flag::forked)) return nullptr;
    const std::uint64_t gone_at = use.stream->gone_at.load(std::memory_order_acquire);
    if (!writes && gone_at != 0) return nullptr;
    if (use.stream->has(stream_flag::poisoned | stream_flag::fallible)) {
        Failure failure = use.stream->known_failure();
        if (failure != nullptr && use.is_same() &&
            (gone_at == 0 || !is_void(*failure, use.stream->device, gone_at)))
            return failure;
    }
    // If the record's outcome was replaced in the meantime, failure_left_by() finds the failure.
    return writes ? failure_left_by(key) : nullptr;
}
}  // namespace

Failure failure_of(const Block& block, bool (*is_left_out)(const void* self, std::uint64_t key),
                   const void* self) {
    const auto ask = [&](std::uint64_t key, bool writes) {
        return key != 0 && !is_left_out(self, key) ? failure_of_user(key, writes) : nullptr;
    };
    const unsigned writers = block.writers.load(std::memory_order_relaxed);
    for (int i = 0; i < Block::inline_users; ++i)
        if (Failure one =
                ask(block.users[i].load(std::memory_order_acquire), (writers >> i & 1) != 0))
            return one;
    if (table_of(block) == nullptr) [[likely]]
        return nullptr;
    std::vector<std::uint64_t> keys;
    {
        const std::lock_guard lock(users_lock);
        for (const auto& slot : table_of(block)->keys)
            keys.push_back(slot.load(std::memory_order_relaxed));
    }
    for (const std::uint64_t key : keys)
        if (Failure one = ask(key, true)) return one;
    return nullptr;
}

std::span<const StreamUse> final_users(Block& block,
                                       std::span<StreamUse, Block::inline_users> few) noexcept {
    UserTable* const table = table_of(block);
    StreamUse* const to = table != nullptr ? table->uses.data() : few.data();
    std::size_t count = 0;
    const auto add = [&](const std::atomic<std::uint64_t>& slot) {
        const std::uint64_t key = slot.load(std::memory_order_acquire);
        if (key != 0 && !has_ended(key)) to[count++] = use_of(key);
    };
    for (const auto& user : block.users) add(user);
    if (table != nullptr)
        for (const auto& slot : table->keys) add(slot);
    return {to, count};
}

std::size_t slots_read_for(const Block& block, std::uint64_t key) noexcept {
    std::size_t read = 0;
    for (const auto& user : block.users) {
        ++read;
        if (user.load(std::memory_order_relaxed) == key) return read;
    }
    const UserTable* const table = table_of(block);
    return table != nullptr ? read + table->find(key).read : read;
}

void forget_users(Block& block) noexcept {
    if (UserTable* const table = table_of(block)) {
        block.more_users.store(nullptr, std::memory_order_relaxed);
        delete table;
    }
    for (auto& user : block.users) user.store(0, std::memory_order_relaxed);
    block.writers.store(0, std::memory_order_relaxed);
}

}  // namespace heddle::detail
