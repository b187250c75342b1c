// Blocks of memory that heddle did not allocate. A function is called once after the last use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <heddle/memory/detail/block.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// The function to call after the last use of foreign memory.
class MemoryEnd {
public:
    /// When run() is called. `host`: on a host thread, when all work on the memory has completed.
    /// `stream`: at once, with a stream that is ordered after all of that work.
    enum class Order : std::uint8_t { host, stream };

    explicit MemoryEnd(Order when) noexcept : order(when) {}
    MemoryEnd(const MemoryEnd&) = delete;
    virtual ~MemoryEnd() = default;
    /// Called once. `after` is null for Order::host. An exception is passed to the report hook.
    virtual void run(const StreamRef* after) = 0;

    const Order order;
};

/// Memory that heddle did not allocate.
struct ForeignMemory {
    void* data = nullptr;
    std::size_t count = 0, element = 1, alignment = 1;  ///< elements, and bytes of one
    Device device = Access::device(DeviceKind::cpu, 0);
    MemoryKind kind = MemoryKind::device;  ///< pinned and pageable memory: `device` is cpu:0
    MemoryOrigin origin = MemoryOrigin::adopted;
};

/// Makes a block of foreign memory, which any stream and the host may use at once. The caller is
/// its first owner, and passes the ownership to an Array or to release(). After the last release(),
/// `end` is called once all uses are over. Errors name `call`. If adopt_memory() throws, `end` is
/// destroyed without being called: the memory is still the caller's. Throws UsageError for null,
/// for memory of an array, and for memory of another kind or device than `memory` states.
/// Thread-safe.
Block& adopt_memory(const ForeignMemory& memory, std::unique_ptr<MemoryEnd> end, const char* call,
                    Where where);

/// Adds an owner to a block. The new owner calls release() once. The block must have an owner.
inline void share(Block& block) noexcept { block.owners.fetch_add(1, std::memory_order_relaxed); }

/// Blocks until the ends of all foreign memory that has been released so far have been called.
void finish_ends(const char* call, Where where);

}  // namespace detail
}  // namespace heddle
