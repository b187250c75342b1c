// Page-locked host memory, kept for use again: pinning costs 93 ms for 256 MB, and cudaFreeHost waits for a
// busy device, so it is never called to release memory (docs/adr/0204).
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

#include "cuda/fence.hpp"

namespace heddle::detail::cu {

/// Thread-safe. Blocks that were given back are handed out again once all their fences are passed.
class PinnedCache {
public:
    /// At least `bytes` > 0, aligned to 4096. Throws OutOfMemory when there is none, idle blocks given back
    /// included.
    void* take(std::size_t bytes, const SourceLocation& where);

    /// Gives a block back; it is used again after the fences. Throws nothing: at worst the block is lost.
    void give(void* data, Fences fences) noexcept;

private:
    struct Idle {
        void* data;
        Fences fences;
    };

    void* find(std::size_t bytes, std::size_t most) noexcept;  ///< null: none is free
    void* allocate(std::size_t bytes, const SourceLocation& where);
    void* cut_from_slab(std::size_t bytes, const SourceLocation& where);
    bool release_idle() noexcept;

    std::mutex mutex_;  ///< guards the next two; no call that may block under it
    std::unordered_map<void*, std::size_t> capacity_;  ///< of all blocks, idle or not
    std::map<std::size_t, std::deque<Idle>> idle_;     ///< by capacity, the one given back first in front

    std::mutex slab_mutex_;  ///< guards the next two
    std::byte* slab_ = nullptr;
    std::size_t slab_left_ = 0;
};

PinnedCache& pinned_cache();

}  // namespace heddle::detail::cu
