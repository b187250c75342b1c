// One allocation and who used it: what makes freeing in stream order possible.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <heddle/detail/stream_state.hpp>

namespace heddle {

/// Where memory lives. `device` is memory of its Device; the other two are host memory.
enum class MemoryKind : std::uint8_t { device, pinned, pageable };

namespace detail {

/// Whose memory it is: of a device's pool (or of the host), of this process but open to others, or of another process.
enum class MemoryOrigin : std::uint8_t { pool, shared, imported };

/// One allocation. Blocks stay at their address for the life of the process and are used again, so that a View
/// which outlives its Array finds `alive == false` here.
struct Block {
    static constexpr int inline_users = 4;

    void* data = nullptr;
    std::size_t bytes = 0;
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    MemoryKind kind = MemoryKind::device;
    MemoryOrigin origin = MemoryOrigin::pool;
    std::size_t offset = 0;  ///< imported memory: of `data` in the other process's allocation
    std::atomic<bool> alive{false};
    std::atomic<std::uint64_t> serial{0};  ///< another one for every allocation that it stands for
    std::atomic<std::uint32_t> owners{1};  ///< an Array, or nodes of graphs
    /// The streams that were given work on this memory, by StreamState::key; 0: nobody. Keys, because a closed stream's
    /// record becomes another stream, which is no user.
    std::atomic<std::uint64_t> users[inline_users] = {};
    Block* next_kept = nullptr;              ///< in the list of a batch that frees it later
    std::atomic<void*> more_users{nullptr};  ///< the library's table of further ones (core/users.hpp)
};

void add_user(Block& block, StreamState& stream);  ///< cold half of note_use
[[noreturn]] void throw_dead_block(const Block& block, const char* call, SourceLocation where);
[[noreturn]] void throw_no_array(SourceLocation where);
[[noreturn]] void throw_wrong_device(const Block& block, const StreamState& stream, SourceLocation where);
bool peer_reachable(const Block& block, const StreamState& stream) noexcept;

/// Remembers that `stream` has been given work on `block`. Reads a few words when it already has.
inline void note_use(Block* block, StreamState& stream) {
    if (block == nullptr) return;
    const std::uint64_t key = stream.key.load(std::memory_order_relaxed);
    for (const auto& user : block->users)
        if (user.load(std::memory_order_relaxed) == key) return;
    add_user(*block, stream);
}

/// Checks that a kernel on `stream` can touch `block`; throws UsageError if not.
inline void check_reach(const Block* block, const StreamState& stream, const SourceLocation& where) {
    if (block == nullptr) return;
    if (!block->alive.load(std::memory_order_relaxed)) [[unlikely]]
        throw_dead_block(*block, "launch", where);
    if (block->device == stream.device && block->kind == MemoryKind::device) [[likely]]
        return;
    if (!peer_reachable(*block, stream)) [[unlikely]]
        throw_wrong_device(*block, stream, where);
}

}  // namespace detail
}  // namespace heddle
