// A cache of page-locked host memory. Pinning costs 93 ms for 256 MB, and cudaFreeHost waits for a
// busy device. So the cache releases memory only if no more can be pinned (docs/adr/0204).
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>

#include "core/seam/backend.hpp"
#include "cuda/host_sync/pending_use.hpp"

namespace heddle::detail::cu {

/// Provides pinned buffers, and reuses released ones once all their pending uses have ended.
/// Thread-safe.
class PinnedCache {
public:
    /// Acquires a buffer of at least `bytes` > 0, aligned to 4096 bytes. Throws OutOfMemory if none
    /// can be pinned even after idle buffers were released.
    Allocated take(std::size_t bytes, const SourceLocation& where);

    /// Releases a buffer, for reuse once the pending uses have ended.
    void give(void* data, PendingUses pending_uses) noexcept;

private:
    struct Buffer {
        void* data = nullptr;
        std::size_t capacity = 0;
        PendingUses pending_uses;  ///< of an idle buffer
        Buffer* next = nullptr;    ///< in its idle list
    };
    /// Idle buffers, oldest release first.
    struct IdleList {
        Buffer* first = nullptr;
        Buffer** end = &first;
        void add(Buffer& buffer) noexcept;
        Buffer& remove(Buffer** at) noexcept;  ///< `at`: the pointer to the buffer
    };

    static std::size_t class_of(std::size_t capacity) noexcept;  ///< index of the idle list
    /// Returns an idle buffer of `bytes` to `most` bytes, or null if none is free.
    void* find(std::size_t bytes, std::size_t most) noexcept;
    void* make_buffer(std::size_t capacity, const SourceLocation& where);
    void* allocate(std::size_t bytes, const SourceLocation& where);
    void* cut_from_slab(std::size_t bytes, const SourceLocation& where);
    bool release_idle() noexcept;

    std::mutex mutex_;  ///< guards the next two; not held across calls that may block
    std::map<void*, Buffer> buffers_;  ///< by address; idle buffers and buffers in use
    /// One list for each power of two from 4 KiB to 64 MiB, and one for larger buffers.
    std::array<IdleList, 16> idle_;

    std::mutex slab_mutex_;  ///< guards the next two
    std::byte* slab_ = nullptr;
    std::size_t slab_left_ = 0;
};

PinnedCache& pinned_cache();

/// Returns a device in use that is not lost. Returns null if there is none.
Gpu* any_gpu() noexcept;
/// Returns any device in use, for calls that concern all devices. Initialises the first one if none
/// is in use. Errors name `call`.
Gpu& some_gpu(const char* call, const SourceLocation& where);

}  // namespace heddle::detail::cu
