// One allocation and its users, so that it can be freed in stream order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <heddle/stream/detail/stream_state.hpp>

namespace heddle HEDDLE_VISIBLE {

/// The location of memory. `device` is memory of the block's Device; the other two are host memory.
enum class MemoryKind : std::uint8_t { device, pinned, pageable };

namespace detail {

/// The origin of memory: a device's pool (or the host), a shareable allocation of this process,
/// another process, or code outside heddle (adopted for good, or lent).
enum class MemoryOrigin : std::uint8_t { pool, shared, imported, adopted, lent };

struct MemoryEnding;
struct PooledMemory;

/// One allocation. Blocks keep their address for the life of the process and are reused. A View
/// that outlives its Array therefore finds `alive == false`, or memory other than its own.
/// Addresses are multiples of 128: see OwnerWord. The members that a launch reads are in the first
/// 64 bytes.
struct alignas(128) Block {
    static constexpr int inline_users = 4;

    // The memory stays recorded until another allocation reuses the block. set_memory() changes
    // `data` and `bytes`, because other threads may read them through a view that outlived its
    // array.
    void* data = nullptr;
    std::size_t bytes = 0;
    Device device = Access::device(DeviceKind::cpu, 0);
    MemoryKind kind = MemoryKind::device;
    MemoryOrigin origin = MemoryOrigin::pool;
    std::atomic<bool> alive{false};
    /// One bit for each of `users` that may write the memory, and the bit `lost_users`. Users in
    /// `more_users` always count as writers.
    std::atomic<std::uint8_t> writers{0};
    std::atomic<std::uint32_t> owners{1};  ///< number of owners: an Array, graph nodes, a batch
    /// The streams with work on this memory, by StreamState::key; 0: unused. Keys are used instead
    /// of addresses, because a closed stream's record is reused for another stream, which is not a
    /// user.
    std::atomic<std::uint64_t> users[inline_users] = {};
    std::atomic<std::uint64_t> serial{0};  ///< identifies the allocation; never reused; 0: none
    /// For imported memory: the offset of `data` in the other process's allocation, in bytes.
    std::size_t offset = 0;
    Block* next_kept = nullptr;     ///< next in a list of blocks that are freed later
    Block* next_listed = nullptr;   ///< next in the list of new blocks (memory/block_records.hpp)
    std::uintptr_t indexed_at = 0;  ///< its address in the index of addresses; 0: not in it
    /// The library's table of further users (core/memory/users.hpp).
    std::atomic<void*> more_users{nullptr};
    union {
        /// The memory's record in its stream's cache (core/memory/kept_memory.hpp), or null if it
        /// will not be cached.
        PooledMemory* pooled = nullptr;
        /// For adopted memory: the end to call after its last use (core/memory/ends.hpp).
        MemoryEnding* ending;
    };
    std::uint8_t pool = 0;  ///< pool of this record; never changes (core/memory/block_records.cpp)
    bool is_listed = false;
};
static_assert(sizeof(Block) == 128);

/// Sets a block's memory. Other threads may concurrently read it through holds().
inline void set_memory(Block& block, void* data, std::size_t bytes) noexcept {
    __atomic_store_n(&block.data, data, __ATOMIC_RELAXED);
    __atomic_store_n(&block.bytes, bytes, __ATOMIC_RELAXED);
}
/// Returns whether the bytes lie within the block's current or last memory. If not, the view
/// outlived its array.
inline bool holds(const Block& block, const void* data, std::size_t bytes) noexcept {
    const auto begin =
        reinterpret_cast<std::uintptr_t>(__atomic_load_n(&block.data, __ATOMIC_RELAXED));
    const std::size_t size = __atomic_load_n(&block.bytes, __ATOMIC_RELAXED);
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(data) - begin;
    return at <= size && bytes <= size - at;
}

/// Returns an id of the block's current allocation that is never reused, or 0 for none.
inline std::uint64_t allocation_of(const Block* block) noexcept {
    return block != nullptr ? block->serial.load(std::memory_order_relaxed) : 0;
}

/// Slow path of note_use().
void add_user(Block& block, StreamState& stream, bool writes);
/// Frees the blocks that could not be freed earlier because memory ran out.
void free_unfreed_blocks() noexcept;
// `argument` is the index of a launch's argument, from 1, or 0 if unknown.
[[noreturn]] void throw_dead_block(const Block& block, const char* call, Where where,
                                   int argument = 0);
[[noreturn]] void throw_no_array(const char* call, Where where, int argument = 0);
[[noreturn]] void throw_wrong_device(const Block& block, const StreamState& stream, Where where,
                                     int argument = 0);
bool peer_reachable(const Block& block, const StreamState& stream) noexcept;

/// Adds `stream` to the users of `block`. If `stream` is a user already, only reads a few words.
/// admit() calls this for all memory that a submission uses.
inline void note_use(Block* block, StreamState& stream, bool writes = true) {
    if (block == nullptr) return;
    const std::uint64_t key = stream.key.load(std::memory_order_relaxed);
    for (int i = 0; i < Block::inline_users; ++i)
        if (block->users[i].load(std::memory_order_relaxed) == key) {
            if (!writes || (block->writers.load(std::memory_order_relaxed) >> i & 1) != 0) return;
            break;
        }
    add_user(*block, stream, writes);
}

/// Throws UsageError if a kernel on `stream` cannot access `block`, or if `block` has been freed.
inline void check_reach(const Block* block, const StreamState& stream, const SourceLocation& where,
                        int argument = 0) {
    if (block == nullptr) return;
    if (!block->alive.load(std::memory_order_relaxed)) [[unlikely]]
        throw_dead_block(*block, "launch", where, argument);
    if (block->device == stream.device && block->kind == MemoryKind::device) [[likely]]
        return;
    if (!peer_reachable(*block, stream)) [[unlikely]]
        throw_wrong_device(*block, stream, where, argument);
}

}  // namespace detail
}  // namespace heddle
