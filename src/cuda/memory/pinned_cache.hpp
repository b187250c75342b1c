// A cache of page-locked host memory. Pinning costs 93 ms for 256 MB, and cudaFreeHost waits for a
// busy device. So the cache releases memory only when no more can be pinned (docs/adr/0204).
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

#include "cuda/host_sync/fence.hpp"

namespace heddle::detail::cu {

/// Hands out pinned blocks, and reuses returned ones once all their fences are passed. Thread-safe.
class PinnedCache {
public:
    /// Takes a block of at least `bytes` > 0, aligned to 4096 bytes. Throws OutOfMemory if there
    /// is none even after idle blocks were released.
    void* take(std::size_t bytes, const SourceLocation& where);

    /// Gives a block back, for reuse after the fences. If that fails, the block is leaked.
    void give(void* data, Fences fences) noexcept;

private:
    struct Idle {
        void* data;
        Fences fences;
    };

    void* find(std::size_t bytes, std::size_t most) noexcept;  ///< returns null if none is free
    void* allocate(std::size_t bytes, const SourceLocation& where);
    void* cut_from_slab(std::size_t bytes, const SourceLocation& where);
    bool release_idle() noexcept;

    std::mutex mutex_;  ///< guards the next two; not held across calls that may block
    std::unordered_map<void*, std::size_t> capacity_;  ///< of all blocks, idle or not
    /// By capacity, the block returned first in front.
    std::map<std::size_t, std::deque<Idle>> idle_;

    std::mutex slab_mutex_;  ///< guards the next two
    std::byte* slab_ = nullptr;
    std::size_t slab_left_ = 0;
};

PinnedCache& pinned_cache();

}  // namespace heddle::detail::cu
