// The lists of memory that streams cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/memory/kept_memory.hpp"
#include "core/memory/size_class.hpp"

namespace heddle::detail {

/// Cached allocations of one size class, newest first.
struct Bin {
    PooledMemory* first = nullptr;
    std::uint32_t count = 0;
    /// The number of allocations that the stream has not needed since `watched_since`.
    std::uint32_t unused = 0;
    std::uint64_t watched_since = 0;  ///< value of DeviceMemory::missed when counting began

    void put(PooledMemory& pooled) noexcept {
        pooled.next_free = std::exchange(first, &pooled);
        // No allocation has been needed so far, so the new one is not needed either.
        if (unused != 0 && unused == count) ++unused;
        ++count;
    }
    /// Removes and returns the allocation after `before`. If `before` is null, removes the first
    /// allocation.
    PooledMemory& take(PooledMemory* before) noexcept {
        PooledMemory*& link = before != nullptr ? before->next_free : first;
        PooledMemory& pooled = *std::exchange(link, link->next_free);
        unused = std::min(unused, --count);
        return pooled;
    }
};

/// The memory that a stream caches, by size class. Each stream's cache has its own lock, because
/// usually one thread makes and frees a stream's arrays. Never freed: later streams of the device
/// reuse the object.
struct alignas(64) KeptMemory {
    explicit KeptMemory(Device of) noexcept : device(of) {}

    const Device device;
    KeptMemory* next = nullptr;  ///< next in the list of all objects of the device
    /// Guarded by kept_lists_lock(), like the next member.
    KeptMemory* next_listed = nullptr;
    KeptMemory* next_unused = nullptr;
    std::atomic<bool> is_listed{false};  ///< changed only with both locks held

    SpinLock lock;                         ///< guards the members below
    const StreamRecord* stream = nullptr;  ///< the stream that uses it, or null
    std::size_t bytes = 0;
    std::size_t low_water = 0;
    std::size_t reserved = 0;  ///< this object's share of the device's limit, in bytes
    std::uint64_t hits = 0, misses = 0;
    std::array<Bin, size_class_count> bins{};

    Bin& bin_of(std::size_t size) noexcept {
        return bins[static_cast<std::size_t>(size_class(size))];
    }
    void put(PooledMemory& pooled) noexcept {
        bin_of(pooled.bytes).put(pooled);
        bytes += pooled.bytes;
    }
    PooledMemory& take(Bin& bin, PooledMemory* before) noexcept {
        PooledMemory& pooled = bin.take(before);
        bytes -= pooled.bytes;
        low_water = std::min(low_water, bytes);
        return pooled;
    }
};

/// The memory that all streams of a device cache.
struct DeviceMemory {
    /// The first of all KeptMemory objects of the device. Their list only grows.
    std::atomic<KeptMemory*> first{nullptr};
    std::atomic<std::size_t> reserved{0};  ///< sum over all KeptMemory objects
    std::atomic<std::size_t> wasted{0};    ///< sum over all allocations that arrays use
    std::atomic<std::size_t> most_kept{0}, most_wasted{0};

    // Guarded by kept_lists_lock().
    /// A list of objects that cache memory, or that did so when another stream last searched them.
    /// The first object is searched next.
    KeptMemory* first_listed = nullptr;
    KeptMemory* last_listed = nullptr;
    KeptMemory* first_unused = nullptr;  ///< the first object that no stream uses
    std::uint64_t missed = 1;            ///< increases with each unsuccessful search

    template <class Function> void for_each(Function function) const {
        for (KeptMemory* at = first.load(std::memory_order_acquire); at != nullptr; at = at->next)
            function(*at);
    }
    /// Adds the object to the list. Call it with kept_lists_lock() held.
    void list(KeptMemory& kept) noexcept;
};

DeviceMemory& memory_of(Device device) noexcept;
/// Guards the lists of KeptMemory objects. Acquire it before the lock of a KeptMemory.
SpinLock& kept_lists_lock() noexcept;

/// Makes the stream's KeptMemory for kept_by(), if it has none yet.
KeptMemory* make_kept(StreamRecord& stream) noexcept;
/// Returns the stream's KeptMemory. Returns null if caching is disabled or memory is exhausted.
inline KeptMemory* kept_by(StreamRecord& stream) noexcept {
    KeptMemory* const kept = stream.kept.load(std::memory_order_acquire);
    return kept != nullptr ? kept : make_kept(stream);
}
/// Removes the KeptMemory from a stream that ends, and returns it. Returns null if there is none.
KeptMemory* leave_kept(StreamRecord& stream) noexcept;
/// Makes a KeptMemory from leave_kept() available to other streams.
void give_kept(KeptMemory& kept) noexcept;

}  // namespace heddle::detail
