// Memory for the operations of queues, and the pool of its free chunks.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

#include "core/base/spin_lock.hpp"

namespace heddle::detail::cpu {

/// A block of memory for operations. The chunks of a queue form a linked list.
struct Chunk {
    static constexpr std::size_t standard = 4096;
    Chunk* next = nullptr;
    std::size_t size = 0;  ///< bytes available at data()
    std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(Chunk) == 16);

/// Caches free chunks of standard size, because each new chunk from the system costs a page fault.
class ChunkPool {
public:
    static constexpr std::size_t standard = Chunk::standard - sizeof(Chunk);
    static constexpr int most = 4096;  // 16 MiB

    SpinLock& lock() noexcept { return lock_; }

    Chunk* take(std::size_t size) {
        if (size == standard) {
            const std::lock_guard lock(lock_);
            if (free_ != nullptr) {
                --count_;
                return std::exchange(free_, free_->next);
            }
        }
        auto* chunk = new (::operator new(sizeof(Chunk) + size, std::align_val_t(64))) Chunk;
        chunk->size = size;
        return chunk;
    }
    void give(Chunk* chunk) noexcept {
        if (chunk == nullptr) return;
        if (chunk->size == standard) {
            const std::lock_guard lock(lock_);
            if (count_ < most) {
                ++count_;
                chunk->next = std::exchange(free_, chunk);
                return;
            }
        }
        ::operator delete(chunk, std::align_val_t(64));
    }

    /// Frees the chunks in the pool.
    void give_back() noexcept {
        Chunk* chunk = nullptr;
        {
            const std::lock_guard lock(lock_);
            chunk = std::exchange(free_, nullptr);
            count_ = 0;
        }
        while (chunk != nullptr) {
            Chunk* const next = chunk->next;
            ::operator delete(chunk, std::align_val_t(64));
            chunk = next;
        }
    }

private:
    SpinLock lock_;
    Chunk* free_ = nullptr;
    int count_ = 0;
};

/// Returns the pool of the process.
ChunkPool& chunks() noexcept;

}  // namespace heddle::detail::cpu
