// The lists of what streams keep, and where they are.
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
    std::uint32_t unused = 0;         ///< how many its stream has not needed since that:
    std::uint64_t watched_since = 0;  ///< DeviceMemory::missed

    void put(MemoryPiece& piece) noexcept {
        piece.next_free = std::exchange(first, &piece);
        if (unused != 0 && unused == count) ++unused;  // nothing was taken
        ++count;
    }
    /// Takes the piece behind `before`, or the first if that is null.
    MemoryPiece& take(MemoryPiece* before) noexcept {
        MemoryPiece*& link = before != nullptr ? before->next_free : first;
        MemoryPiece& piece = *std::exchange(link, link->next_free);
        unused = std::min(unused, --count);
        return piece;
    }
};

/// What a stream keeps, by size class. The lock is the stream's own: in the usual case one thread
/// makes and frees a stream's arrays. Never freed: another stream of the device has it later.
struct alignas(64) KeptMemory {
    explicit KeptMemory(Device of) noexcept : device(of) {}

    const Device device;
    KeptMemory* next = nullptr;         ///< of the device's
    KeptMemory* next_listed = nullptr;  ///< guarded by kept_lists_lock(), as the next one
    KeptMemory* next_spare = nullptr;
    std::atomic<bool> is_listed{false};  ///< changed under both locks

    SpinLock lock;                         ///< guards what follows
    const StreamRecord* stream = nullptr;  ///< null while no stream has it
    std::size_t bytes = 0;
    std::size_t least = 0;
    std::size_t reserved = 0;  ///< of what the device may keep
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

/// What all streams of a device keep.
struct DeviceMemory {
    std::atomic<KeptMemory*> first{nullptr};  ///< of all; only grows
    std::atomic<std::size_t> reserved{0};     ///< the sum of theirs
    std::atomic<std::size_t> wasted{0};       ///< the sum of the pieces' that arrays have
    std::atomic<std::size_t> most_kept{0}, most_wasted{0};

    // Guarded by kept_lists_lock().
    /// Those that keep something or did when another stream looked at them last; the one to look at
    /// next is the first.
    KeptMemory* first_listed = nullptr;
    KeptMemory* last_listed = nullptr;
    KeptMemory* first_spare = nullptr;  ///< of those without a stream
    std::uint64_t missed = 1;           ///< grows with what streams have searched in vain

    template <class Function> void for_each(Function function) const {
        for (KeptMemory* at = first.load(std::memory_order_acquire); at != nullptr; at = at->next)
            function(*at);
    }
    /// Call it with kept_lists_lock() held.
    void list(KeptMemory& kept) noexcept;
};

DeviceMemory& memory_of(Device device) noexcept;
/// Guards lists of a device's KeptMemory. Taken before one's own lock.
SpinLock& kept_lists_lock() noexcept;

/// The part of kept_by() for a stream that has kept nothing yet.
KeptMemory* make_kept(StreamRecord& stream) noexcept;
/// Returns null if nothing may be kept, or if there is no memory for the lists.
inline KeptMemory* kept_by(StreamRecord& stream) noexcept {
    KeptMemory* const kept = stream.kept.load(std::memory_order_acquire);
    return kept != nullptr ? kept : make_kept(stream);
}
/// Takes its lists from a stream that ends. Returns null if it had none.
KeptMemory* leave_kept(StreamRecord& stream) noexcept;
/// Lets other streams have lists that leave_kept() returned.
void give_kept(KeptMemory& kept) noexcept;

}  // namespace heddle::detail
