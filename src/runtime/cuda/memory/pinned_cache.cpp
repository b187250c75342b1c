#include "cuda/memory/pinned_cache.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/errors.hpp"
#include "core/base/made_once.hpp"
#include "core/base/report.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"

namespace heddle::detail::cu {

namespace {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;
constexpr std::size_t smallest = 4 * KiB;
constexpr std::size_t slab_bytes = 2 * MiB;
/// Buffers up to this size are cut from slabs, so that one pinning call serves many buffers.
constexpr std::size_t from_slab = 256 * KiB;
constexpr std::size_t large = 64 * MiB;  ///< for larger buffers, powers of two waste too much

std::size_t round_up(std::size_t bytes) noexcept {
    if (bytes <= large) return std::max(smallest, std::bit_ceil(bytes));
    return (bytes + slab_bytes - 1) / slab_bytes * slab_bytes;
}

/// Runs the cleanups of all devices. Returns false if there were none.
bool run_all_cleanups() noexcept {
    bool any = false;
    for (int i = 0; i < max_devices; ++i) {
        Gpu* g = gpu_if_used(i);
        if (g == nullptr || g->cleanups.load(std::memory_order_relaxed) == 0) continue;
        run_cleanups_now(*g);
        any = true;
    }
    return any;
}

constinit MadeOnce<PinnedCache> cache;

}  // namespace

Gpu* any_gpu() noexcept {
    for (int i = 0; i < max_devices; ++i)
        if (Gpu* g = gpu_if_used(i); g != nullptr && !g->lost.load(std::memory_order_acquire))
            return g;
    return nullptr;
}

Gpu& some_gpu(const char* call, const SourceLocation& where) {
    const int count = the_backend().device_count();
    if (count != 0)
        if (Gpu* const g = any_gpu()) return *g;
    if (count == 0)
        coded_error(ErrorCode::no_device, {call, where}, "{}", the_backend().unavailable_reason());
    return gpu(0, where);
}

PinnedCache& pinned_cache() { return cache.get(); }

Allocated PinnedCache::take(std::size_t bytes, const SourceLocation& where) {
    const std::size_t capacity = round_up(bytes);
    // A large buffer may be up to a quarter larger than requested.
    const std::size_t most = capacity > large ? capacity + capacity / 4 : capacity;
    RelaxedCapture relaxed;
    // Blocks released in host functions may still be deferred. Pinning more memory costs far more
    // than running the cleanups.
    bool again = true;
    do {
        std::lock_guard lock(mutex_);
        if (void* const found = find(capacity, most)) return {found, true};
    } while (std::exchange(again, false) && run_all_cleanups());
    return {make_buffer(capacity, where)};
}

void PinnedCache::IdleList::add(Buffer& buffer) noexcept {
    buffer.next = nullptr;
    *end = &buffer;
    end = &buffer.next;
}

PinnedCache::Buffer& PinnedCache::IdleList::remove(Buffer** at) noexcept {
    Buffer& buffer = **at;
    if (end == &buffer.next) end = at;
    *at = buffer.next;
    return buffer;
}

std::size_t PinnedCache::class_of(std::size_t capacity) noexcept {
    return static_cast<std::size_t>(std::bit_width(std::min(capacity, large + 1) - 1) -
                                    std::bit_width(smallest - 1));
}

void* PinnedCache::find(std::size_t bytes, std::size_t most) noexcept {
    // Checks all buffers, oldest release first, so that a free buffer is found even if many are
    // pending. With HeldUp, a thousand buffers behind one stalled stream cost only one query.
    HeldUp held_up;
    IdleList& list = idle_[class_of(bytes)];
    for (Buffer** at = &list.first; *at != nullptr; at = &(*at)->next) {
        Buffer& buffer = **at;
        if (buffer.capacity < bytes || buffer.capacity > most) continue;
        if (have_ended(buffer.pending_uses, held_up)) return list.remove(at).data;
    }
    return nullptr;
}

void* PinnedCache::make_buffer(std::size_t capacity, const SourceLocation& where) {
    // Allocates first, so that no pinned memory can leak.
    std::map<void*, Buffer> single;
    single[nullptr].capacity = capacity;
    auto buffer = single.extract(nullptr);
    void* const data =
        capacity <= from_slab ? cut_from_slab(capacity, where) : allocate(capacity, where);
    buffer.key() = buffer.mapped().data = data;
    const std::lock_guard lock(mutex_);
    buffers_.insert(std::move(buffer));
    return data;
}

void* PinnedCache::allocate(std::size_t bytes, const SourceLocation& where) {
    Gpu& g = some_gpu("pinned", where);
    InContext in(g);
    void* data = nullptr;
    const auto ask = [&] {
        return api.cudaHostAlloc(&data, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
    };
    cudaError_t code = ask();
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        run_all_cleanups();
        release_idle();
        code = ask();
    }
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        coded_error(ErrorCode::out_of_memory,
                    with_native({"cudaHostAlloc", where, gpu_device(g.index)}, code),
                    "{} bytes of pinned memory cannot be allocated, because the system cannot lock "
                    "that many pages: free pinned memory, then retry",
                    bytes);
    }
    check(code, "cudaHostAlloc", g.index, where);
    return data;
}

void* PinnedCache::cut_from_slab(std::size_t bytes, const SourceLocation& where) {
    std::lock_guard lock(slab_mutex_);
    // Abandons the rest of the old slab, which is smaller than the buffer.
    if (slab_left_ < bytes) {
        slab_ = static_cast<std::byte*>(allocate(slab_bytes, where));
        slab_left_ = slab_bytes;
    }
    slab_left_ -= bytes;
    return std::exchange(slab_, slab_ + bytes);
}

bool PinnedCache::release_idle() noexcept {
    std::map<void*, Buffer> released;
    {
        const std::lock_guard lock(mutex_);
        HeldUp held_up;
        for (std::size_t i = class_of(from_slab) + 1; i < idle_.size(); ++i) {
            for (Buffer** at = &idle_[i].first; *at != nullptr;) {
                if (have_ended((*at)->pending_uses, held_up))
                    released.insert(buffers_.extract(idle_[i].remove(at).data));
                else at = &(*at)->next;
            }
        }
    }
    for (const auto& [data, buffer] : released)
        note_failure(api.cudaFreeHost(data), "cudaFreeHost", -1);
    return !released.empty();
}

void PinnedCache::give(void* data, PendingUses pending_uses) noexcept {
    const std::lock_guard lock(mutex_);
    Buffer& buffer = buffers_.find(data)->second;
    buffer.pending_uses = std::move(pending_uses);
    idle_[class_of(buffer.capacity)].add(buffer);
}

}  // namespace heddle::detail::cu
