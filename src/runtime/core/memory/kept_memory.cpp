#include "core/memory/kept_memory.hpp"

#include <algorithm>
#include <mutex>
#include <new>

#include "core/base/address_sanitizer.hpp"
#include "core/base/fork.hpp"
#include "core/base/free_list.hpp"
#include "core/base/thread_sanitizer.hpp"
#include "core/memory/kept_lists.hpp"
#include "core/stream/freed_memory.hpp"
#include "core/stream/registry.hpp"
#include "core/stream/wait_plan.hpp"
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

namespace {

/// With one of these flags, a stream neither caches memory nor uses cached memory.
constexpr std::uint32_t keeps_none = stream_flag::dead | stream_flag::poisoned |
                                     stream_flag::forked | stream_flag::recording |
                                     stream_flag::capturing;
constexpr std::size_t most_looked_at = 4;  ///< allocations of a class that are examined in a search
constexpr int most_visited = 8;            ///< streams that are searched

constinit FreeList<PooledMemory> records;
const ForkRegistration records_registered{ForkOrder::pooled_memory, records.lock()};

/// Returns whether the stream may cache memory and reuse cached memory.
bool keeps(StreamRecord& stream) noexcept {
    const std::uint32_t flags = stream.flags.load(std::memory_order_acquire);
    if ((flags & (keeps_none | stream_flag::unseen)) == 0) [[likely]]
        return true;
    if ((flags & keeps_none) != 0 || thread_states.in_host_function) return false;
    try {
        // Foreign code may have begun a native capture.
        return stream.backend->capture_id(stream) == 0;
    } catch (...) {
        return false;
    }
}

/// Returns the difference between the allocation's size and the request. Returns -1 if the
/// allocation is too small, or if using it would waste too much memory in total.
std::ptrdiff_t excess_of(const PooledMemory& pooled, std::size_t size,
                         const DeviceMemory& memory) noexcept {
    if (pooled.bytes == size) [[likely]]
        return 0;
    if (pooled.bytes < size) return -1;
    const std::size_t excess = pooled.bytes - size;
    const std::size_t wasted = memory.wasted.load(std::memory_order_relaxed) + excess;
    return wasted <= memory.most_wasted.load(std::memory_order_relaxed)
               ? static_cast<std::ptrdiff_t>(excess)
               : -1;
}

/// Returns whether cached memory on the device is marked as inaccessible (by AddressSanitizer).
bool is_poisoned(Device device) noexcept { return asan::is_here() && device.is_cpu(); }

void begin_use(PooledMemory& pooled, Device device, std::size_t bytes,
               std::ptrdiff_t excess) noexcept {
    pooled.wasted = static_cast<std::size_t>(excess);
    if (excess != 0) memory_of(device).wasted.fetch_add(pooled.wasted, std::memory_order_relaxed);
    if (is_poisoned(device)) asan::unpoison(pooled.data, bytes);
}

/// Takes an allocation from the stream's own cache. Returns null if none fits.
PooledMemory* take_own(const StreamRecord& stream, KeptMemory& kept, std::size_t bytes,
                       std::size_t size) noexcept {
    const DeviceMemory& memory = memory_of(kept.device);
    const std::uint64_t key = stream.key.load(std::memory_order_relaxed);
    const std::lock_guard lock(kept.lock);
    Bin& bin = kept.bin_of(size);
    PooledMemory* before = nullptr;
    PooledMemory* at = bin.first;
    for (std::size_t i = 0; at != nullptr && i < most_looked_at; ++i) {
        const std::ptrdiff_t excess = excess_of(*at, size, memory);
        // After a shortage of memory, the list may contain an allocation of another stream.
        if (excess >= 0 && (at->key == key || has_ended(at->key))) {
            PooledMemory& pooled = kept.take(bin, before);
            ++kept.hits;
            begin_use(pooled, kept.device, bytes, excess);
            return &pooled;
        }
        before = std::exchange(at, at->next_free);
    }
    ++kept.misses;
    return nullptr;
}

/// Returns whether the stream's later work is ordered after all uses of the allocation.
bool comes_after(const StreamRecord& stream, const PooledMemory& pooled) noexcept {
    if (has_ended(pooled.key)) return true;
    const StreamUse owner = use_of(pooled.key);
    return !owner.stream->has(stream_flag::unseen) &&
           stream.waited.covers(owner.id, pooled.submissions);
}

/// The result of searching the memory that other streams cache.
struct Found {
    PooledMemory* usable = nullptr;
    PooledMemory* unused = nullptr;  ///< an allocation that its owner has not used for long
};

/// Returns the total size of failed searches, in bytes, after which a stream may take memory that
/// another stream no longer uses.
std::uint64_t patience_of(const DeviceMemory& memory) noexcept {
    return memory.most_kept.load(std::memory_order_relaxed) / 16;
}

/// Searches the memory that another stream caches. Call it with both locks held.
Found take_from(KeptMemory& kept, const StreamRecord& stream, std::size_t bytes,
                std::size_t size) noexcept {
    const DeviceMemory& memory = memory_of(stream.device);
    Bin& bin = kept.bin_of(size);
    PooledMemory* before = nullptr;
    PooledMemory* at = bin.first;
    for (std::size_t i = 0; at != nullptr && i < most_looked_at; ++i) {
        const std::ptrdiff_t excess = excess_of(*at, size, memory);
        if (excess >= 0 && comes_after(stream, *at)) {
            PooledMemory& pooled = kept.take(bin, before);
            begin_use(pooled, kept.device, bytes, excess);
            return {.usable = &pooled};
        }
        before = std::exchange(at, at->next_free);
    }
    if (bin.unused == 0) {
        bin.unused = bin.count;
        bin.watched_since = memory.missed;
    }
    if (bin.unused == 0 || memory.missed - bin.watched_since <= patience_of(memory)) return {};
    --bin.unused;
    return {.unused = &kept.take(bin, nullptr)};
}

/// Searches the cached memory of a few other streams. Begins with the stream that was searched
/// longest ago.
Found take_elsewhere(const StreamRecord& stream, const KeptMemory& own, std::size_t bytes,
                     std::size_t size) noexcept {
    DeviceMemory& memory = memory_of(own.device);
    const std::lock_guard listed(kept_lists_lock());
    const KeptMemory* const last = memory.last_listed;
    for (int visits = 0; visits < most_visited && memory.first_listed != nullptr; ++visits) {
        KeptMemory& kept = *memory.first_listed;
        memory.first_listed = kept.next_listed;
        const std::lock_guard lock(kept.lock);
        if (kept.bytes != 0) memory.list(kept);
        else kept.is_listed.store(false, std::memory_order_relaxed);
        if (&kept != &own) {
            const Found found = take_from(kept, stream, bytes, size);
            if (found.usable != nullptr || found.unused != nullptr) return found;
        }
        if (&kept == last) break;
    }
    memory.missed += std::max<std::uint64_t>(size, patience_of(memory) / 64);
    return {};
}

/// Reserves more of the device's limit for this stream's cache, so that it can cache `bytes` more.
/// Returns false if the limit is reached. Call it with the lock held.
bool reserve(KeptMemory& kept, std::size_t bytes) noexcept {
    constexpr std::size_t unit = 1 << 20;
    DeviceMemory& memory = memory_of(kept.device);
    const std::size_t more = (kept.bytes + bytes - kept.reserved + unit - 1) / unit * unit;
    const std::size_t most = memory.most_kept.load(std::memory_order_relaxed);
    if (memory.reserved.fetch_add(more, std::memory_order_relaxed) + more > most) {
        memory.reserved.fetch_sub(more, std::memory_order_relaxed);
        return false;
    }
    kept.reserved += more;
    return true;
}

enum class Kept : std::uint8_t { yes, yes_unlisted, no, too_much };

Kept try_keep(StreamRecord& stream, std::uint64_t key, PooledMemory& pooled) noexcept {
    KeptMemory* const kept = kept_by(stream);
    if (kept == nullptr) return Kept::no;
    const std::lock_guard lock(kept->lock);
    // The stream may have ended in the meantime. Then its record may belong to another stream.
    if (kept->stream != &stream || (stream.flags.load() & stream_flag::dead) != 0 ||
        stream.key.load(std::memory_order_relaxed) != key)
        return Kept::no;
    if (kept->bytes + pooled.bytes > kept->reserved && !reserve(*kept, pooled.bytes))
        return Kept::too_much;
    pooled.key = key;
    // During a loan, the work that uses the memory is not counted yet.
    const bool is_lent = stream.has(stream_flag::lending);
    pooled.submissions = stream.submissions.load(std::memory_order_acquire) + (is_lent ? 1 : 0);
    if (is_poisoned(stream.device)) asan::poison(pooled.data, pooled.bytes);
    kept->put(pooled);
    return kept->is_listed.load(std::memory_order_relaxed) ? Kept::yes : Kept::yes_unlisted;
}

bool keep(StreamRecord& stream, std::uint64_t id, PooledMemory& pooled) noexcept {
    if (!keeps(stream)) return false;
    // ThreadSanitizer detects accesses to freed memory only if the memory is freed on the stream.
    if (tsan::is_here() && stream.device.is_cpu()) return false;
    // Poisoning must not precede pending work that uses the memory, so it would have to run on the
    // stream.
    if (is_poisoned(stream.device) && !stream.backend->is_complete(stream, {})) return false;
    const std::uint64_t key = stream.key.load(std::memory_order_relaxed);
    if (use_of(key).id != id) return false;
    const std::size_t most = memory_of(stream.device).most_kept.load(std::memory_order_relaxed);
    if (pooled.bytes > most) return false;  // caching it would evict all other allocations
    Kept done = try_keep(stream, key, pooled);
    if (done == Kept::yes) [[likely]]
        return true;
    if (done == Kept::too_much) {
        trim_kept_memory(stream.device);
        done = try_keep(stream, key, pooled);
    }
    if (done == Kept::yes_unlisted) {
        const std::lock_guard lock(kept_lists_lock());
        KeptMemory* const kept = stream.kept.load(std::memory_order_acquire);
        if (kept != nullptr && !kept->is_listed.load(std::memory_order_relaxed))
            memory_of(stream.device).list(*kept);
    }
    return done == Kept::yes || done == Kept::yes_unlisted;
}

/// Returns the user that is ordered after all work of the other users, or null if there is none.
const StreamUse* last_of(std::span<const StreamUse> users, Device device) noexcept {
    if (users.size() == 1) [[likely]]
        return users[0].stream->device == device ? &users[0] : nullptr;
    const auto is_after = [](StreamRecord& stream, const StreamUse& other) {
        if (other.stream == &stream) return true;
        if (other.stream->has(keeps_none & ~stream_flag::dead)) return false;
        const WaitPlan plan = decide_wait(stream, other, {}, Recorders::asked);
        return plan.verdict.action == WaitAction::elide ||
               plan.verdict.rule == WaitRuleName::use_ended;
    };
    for (const StreamUse& one : users)
        if (one.stream->device == device && std::ranges::all_of(users, [&](const StreamUse& other) {
                return is_after(*one.stream, other);
            }))
            return &one;
    return nullptr;
}

bool free_to_pool(PooledMemory& pooled, Device device, std::span<const StreamUse> users) noexcept {
    if (!backend_of(device.kind())
             .free(pooled.data, pooled.bytes, device.index(), users.data(), users.size()))
        return false;
    records.give(pooled);
    return true;
}

/// Frees a cached allocation. If freeing fails because memory is exhausted, puts the allocation
/// back into `kept`.
void trim(KeptMemory& kept, PooledMemory& pooled) noexcept {
    if (is_poisoned(kept.device)) asan::unpoison(pooled.data, pooled.bytes);
    const StreamUse owner = use_of(pooled.key);
    if (free_to_pool(pooled, kept.device, {&owner, has_ended(pooled.key) ? 0u : 1u})) return;
    const std::lock_guard lock(kept.lock);
    kept.put(pooled);
}

/// Frees all memory that the object caches. Returns whether it cached any.
bool trim_all(KeptMemory& kept) noexcept {
    PooledMemory* all = nullptr;
    {
        const std::lock_guard lock(kept.lock);
        for (auto bin = kept.bins.begin(); kept.bytes != 0 && bin != kept.bins.end(); ++bin)
            while (bin->first != nullptr) {
                PooledMemory& pooled = kept.take(*bin, nullptr);
                pooled.next_free = std::exchange(all, &pooled);
            }
        memory_of(kept.device)
            .reserved.fetch_sub(std::exchange(kept.reserved, 0), std::memory_order_relaxed);
    }
    const bool was_any = all != nullptr;
    while (all != nullptr) trim(kept, *std::exchange(all, all->next_free));
    return was_any;
}

/// Returns a record for new memory. Returns null if memory is exhausted.
PooledMemory* new_record() noexcept {
    constexpr std::size_t slab = 64;
    if (PooledMemory* const pooled = records.take()) return pooled;
    auto* const made = new (std::nothrow) PooledMemory[slab];
    if (made == nullptr) return nullptr;
    records.give(made + 1, slab - 1);
    return made;
}

}  // namespace

ArrayMemory allocate_memory(StreamRecord& stream, std::size_t bytes, const SourceLocation& where) {
    const std::size_t size = bytes < kept_size_end / 2 ? whole_size(bytes) : bytes;
    PooledMemory* pooled = nullptr;
    if (size < kept_size_end / 2 && keeps(stream)) [[likely]] {
        KeptMemory* const kept = kept_by(stream);
        if (kept != nullptr) {
            if (PooledMemory* const own = take_own(stream, *kept, bytes, size)) [[likely]]
                return {own->data, own};
            const Found found = take_elsewhere(stream, *kept, bytes, size);
            if (found.usable != nullptr) {
                const std::lock_guard lock(kept->lock);
                ++kept->hits, --kept->misses;
                return {found.usable->data, found.usable};
            }
            if (found.unused != nullptr) trim(*kept, *found.unused);
            pooled = new_record();
        }
    }
    try {
        void* const data =
            stream.backend->allocate(stream, pooled != nullptr ? size : bytes, where);
        if (pooled != nullptr) {
            *pooled = {.data = data, .bytes = size};
            // When the memory is used again, begin_use() makes only the requested bytes accessible.
            if (is_poisoned(stream.device))
                asan::poison(static_cast<std::byte*>(data) + bytes, size - bytes);
        }
        return {data, pooled};
    } catch (...) {
        if (pooled != nullptr) records.give(*pooled);
        throw;
    }
}

bool free_memory(PooledMemory& pooled, Device device, std::span<const StreamUse> users) noexcept {
    if (pooled.wasted != 0) {
        memory_of(device).wasted.fetch_sub(pooled.wasted, std::memory_order_relaxed);
        pooled.wasted = 0;
    }
    const StreamUse* const last = last_of(users, device);
    return (last != nullptr && keep(*last->stream, last->id, pooled)) ||
           free_to_pool(pooled, device, users);
}

void trim_kept_memory(StreamRecord& stream) noexcept {
    KeptMemory* const kept = leave_kept(stream);
    if (kept == nullptr) return;
    trim_all(*kept);
    give_kept(*kept);
}

bool trim_kept_memory(Device device) noexcept {
    bool was_any = false;
    memory_of(device).for_each([&](KeptMemory& kept) { was_any = trim_all(kept) || was_any; });
    return was_any;
}

KeptTotals kept_totals(Device device) noexcept {
    KeptTotals all;
    memory_of(device).for_each([&](KeptMemory& kept) {
        const std::lock_guard lock(kept.lock);
        all.bytes += kept.bytes;
        all.low_water += kept.low_water;
        all.hits += kept.hits;
        all.misses += kept.misses;
    });
    return all;
}

void reset_kept_low_water(Device device) noexcept {
    memory_of(device).for_each([](KeptMemory& kept) {
        const std::lock_guard lock(kept.lock);
        kept.low_water = kept.bytes;
    });
}

}  // namespace heddle::detail
