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
    /// Streams that were given work on this memory, in order of first use; the first is the one it was allocated on.
    std::atomic<StreamState*> users[inline_users] = {};
    std::atomic<void*> more_users{nullptr};  ///< the library's list of further ones, changed under its lock
};

void add_user(Block& block, StreamState& stream);  ///< cold half of note_use
[[noreturn]] void throw_dead_block(const Block& block, const char* call, SourceLocation where);
[[noreturn]] void throw_no_array(SourceLocation where);
[[noreturn]] void throw_wrong_device(const Block& block, const StreamState& stream, SourceLocation where);
bool peer_reachable(const Block& block, const StreamState& stream) noexcept;

/// Remembers that `stream` has been given work on `block`. Reads a few words when it already has.
inline void note_use(Block* block, StreamState& stream) {
    if (block == nullptr) return;
    for (auto& user : block->users) {
        StreamState* seen = user.load(std::memory_order_relaxed);
        if (seen == &stream) return;
        if (seen == nullptr) break;
    }
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
