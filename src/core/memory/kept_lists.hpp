// The lists of memory that streams cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/memory/kept_memory.hpp"
#include "core/memory/size_class.hpp"

namespace heddle::detail {

/// Pieces of a size class, newest first.
struct PieceList {
    MemoryPiece* first = nullptr;
    std::uint32_t count = 0;
    /// Number of pieces that the stream has not needed since `watched_since`.
    std::uint32_t unused = 0;
    std::uint64_t watched_since = 0;  ///< the value of DeviceMemory::missed at that time

    void put(MemoryPiece& piece) noexcept {
        piece.next_free = std::exchange(first, &piece);
        if (unused != 0 && unused == count) ++unused;  // no piece was taken so far
        ++count;
    }
    /// Takes the piece after `before`, or the first one if `before` is null.
    MemoryPiece& take(MemoryPiece* before) noexcept {
        MemoryPiece*& link = before != nullptr ? before->next_free : first;
        MemoryPiece& piece = *std::exchange(link, link->next_free);
        unused = std::min(unused, --count);
        return piece;
    }
};

/// The memory that a stream caches, by size class. The lock is the stream's own: usually one thread
/// makes and frees a stream's arrays. Never freed: later streams of the device reuse it.
struct alignas(64) KeptMemory {
    explicit KeptMemory(Device of) noexcept : device(of) {}

    const Device device;
    KeptMemory* next = nullptr;         ///< in the device's list of all
    KeptMemory* next_listed = nullptr;  ///< guarded by kept_lists_lock(), like the next one
    KeptMemory* next_spare = nullptr;
    std::atomic<bool> is_listed{false};  ///< changed under both locks

    SpinLock lock;                         ///< guards the members below
    const StreamRecord* stream = nullptr;  ///< null while no stream has it
    std::size_t bytes = 0;
    std::size_t least = 0;
    std::size_t reserved = 0;  ///< part of the device's limit
    std::uint64_t hits = 0, misses = 0;
    std::array<PieceList, size_class_count> lists{};

    PieceList& list_of(std::size_t size) noexcept {
        return lists[static_cast<std::size_t>(size_class(size))];
    }
    void put(MemoryPiece& piece) noexcept {
        list_of(piece.bytes).put(piece);
        bytes += piece.bytes;
    }
    MemoryPiece& take(PieceList& list, MemoryPiece* before) noexcept {
        MemoryPiece& piece = list.take(before);
        bytes -= piece.bytes;
        least = std::min(least, bytes);
        return piece;
    }
};

/// The memory that all streams of a device cache.
struct DeviceMemory {
    /// The first of all KeptMemory objects; their list only grows.
    std::atomic<KeptMemory*> first{nullptr};
    std::atomic<std::size_t> reserved{0};  ///< the sum over all lists
    std::atomic<std::size_t> wasted{0};    ///< the sum over pieces that arrays use
    std::atomic<std::size_t> most_kept{0}, most_wasted{0};

    // Guarded by kept_lists_lock().
    /// Lists that have memory, or had some when another stream last searched them. The first one is
    /// searched next.
    KeptMemory* first_listed = nullptr;
    KeptMemory* last_listed = nullptr;
    KeptMemory* first_spare = nullptr;  ///< the first of those without a stream
    std::uint64_t missed = 1;           ///< grows with each unsuccessful search

    template <class Function> void for_each(Function function) const {
        for (KeptMemory* at = first.load(std::memory_order_acquire); at != nullptr; at = at->next)
            function(*at);
    }
    /// Call it with kept_lists_lock() held.
    void list(KeptMemory& kept) noexcept;
};

DeviceMemory& memory_of(Device device) noexcept;
/// Guards lists of a device's KeptMemory. Lock it before a KeptMemory's own lock.
SpinLock& kept_lists_lock() noexcept;

/// Implements kept_by() for a stream that has cached no memory yet.
KeptMemory* make_kept(StreamRecord& stream) noexcept;
/// Returns null if caching is disabled, or if there is no memory for the lists.
inline KeptMemory* kept_by(StreamRecord& stream) noexcept {
    KeptMemory* const kept = stream.kept.load(std::memory_order_acquire);
    return kept != nullptr ? kept : make_kept(stream);
}
/// Removes the lists from a stream that ends. Returns null if it had none.
KeptMemory* leave_kept(StreamRecord& stream) noexcept;
/// Makes lists from leave_kept() available to other streams.
void give_kept(KeptMemory& kept) noexcept;

}  // namespace heddle::detail
