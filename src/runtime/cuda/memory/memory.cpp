// Device memory, allocated and freed in stream order; pinned memory; classification of addresses.
#include <algorithm>
#include <iterator>
#include <list>
#include <new>
#include <utility>
#include <vector>

#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "core/stream/freed_memory.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/host_sync/completion_waits.hpp"
#include "cuda/host_sync/pending_use.hpp"
#include "cuda/memory/kept_graphs.hpp"
#include "cuda/memory/later_frees.hpp"
#include "cuda/memory/pinned_cache.hpp"
#include "cuda/memory/shared_memory.hpp"
#include "cuda/stream/event.hpp"

namespace heddle::detail::cu {

namespace {

void set_internal_waits(Gpu& g, int allowed) noexcept {
    note_failure(
        api.cudaMemPoolSetAttribute(g.pool, cudaMemPoolReuseAllowInternalDependencies, &allowed),
        "cudaMemPoolSetAttribute", g.index);
}

CUresult allocate_from_pool(Gpu& g, void** data, std::size_t bytes, cudaStream_t stream) noexcept {
    OnStream on(g, stream);
    CUdeviceptr address = 0;
    const CUresult code = api.cuMemAllocFromPoolAsync(&address, bytes, g.pool, stream);
    *data = reinterpret_cast<void*>(address);
    return code;
}

CUresult free_in_order(Gpu& g, void* data, cudaStream_t stream) noexcept {
    OnStream on(g, stream);
    return api.cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(data), stream);
}

[[noreturn]] void throw_out_of_memory(Gpu& g, std::size_t bytes, StreamRecord& stream,
                                      const SourceLocation& where) {
    std::size_t free = 0, total = 0;
    {
        RelaxedCapture relaxed;
        InContext in(g);
        if (api.cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
    }
    coded_error(ErrorCode::out_of_memory,
                with_native({"cuMemAllocFromPoolAsync", where, stream}, cudaErrorMemoryAllocation),
                "{} bytes on {} cannot be allocated ({} of {} are free): free memory, then retry",
                bytes, stream.device, free, total);
}

/// Makes the completion of an allocation visible to the watch, which measures progress by marks.
/// Without this mark, the allocation and the next operation would count as two pending operations.
void mark_allocation(Gpu& g, StreamRecord& stream) noexcept {
    try {
        const std::uint64_t submitted = stream.submissions.load(std::memory_order_acquire);
        const cudaEvent_t event = cached_event(stream, {});
        if (record_on(g, event, native_of(stream)) == CUDA_SUCCESS) note_mark(stream, submitted);
    } catch (...) {
        // Without the mark, the watch notices the completion later.
    }
}

/// Returns the internal stream that frees memory whose users are done.
cudaStream_t free_stream(Gpu& g) {
    const std::lock_guard lock(g.reclaim_mutex);
    if (g.free_stream == nullptr) {
        InContext in(g);
        check(api.cudaStreamCreateWithPriority(&g.free_stream, cudaStreamNonBlocking,
                                               g.priorities.least),
              "cudaStreamCreateWithPriority", g.index, {});
    }
    return g.free_stream;
}

void free_now(Gpu& g, void* data) {
    check(free_in_order(g, data, free_stream(g)), "cuMemFreeAsync", g.index, {});
}

/// Returns a reclaimer that is not waiting. (A reclaimer is an internal stream that frees memory
/// which other streams still use.) There are few reclaimers, because every waiting stream uses part
/// of a hardware queue. If all are waiting, returns null, or any of them if `any` is true.
Reclaimer* take_reclaimer(Gpu& g, bool any) {
    constexpr std::size_t most = 4;
    std::lock_guard lock(g.reclaim_mutex);
    g.reclaimers.reserve(most);  // pointers to elements stay valid
    for (Reclaimer& r : g.reclaimers)
        if (api.cuStreamQuery(r.stream) == CUDA_SUCCESS) return &r;
    if (g.reclaimers.size() < most) {
        InContext in(g);
        Reclaimer fresh{};
        check(api.cudaStreamCreateWithPriority(&fresh.stream, cudaStreamNonBlocking,
                                               g.priorities.least),
              "cudaStreamCreateWithPriority", g.index, {});
        g.reclaimers.push_back(fresh);
    } else if (!any) {
        return nullptr;
    } else {
        return &g.reclaimers[g.last_reclaimer++ % most];
    }
    return &g.reclaimers.back();
}

void free_behind(Gpu& g, Reclaimer& on, void* data, const PendingUses& users) {
    {
        const std::lock_guard lock(g.reclaim_mutex);
        if (on.completion_waits == nullptr) on.completion_waits = CompletionWaits::make(g, {});
    }
    wait_for(g, on.stream, on.completion_waits, users);
    check(free_in_order(g, data, on.stream), "cuMemFreeAsync", g.index, {});
}

/// Enqueues all later_frees in stream order, even on reclaimers that are waiting. Used if memory is
/// short: the driver can make an allocation wait for enqueued frees.
void order_later_frees(Gpu& g) noexcept {
    std::list<LaterFree> all;
    {
        const std::lock_guard lock(g.cleanups_mutex);
        all.swap(g.later_frees);
        note_cleanups(g);
    }
    for (LaterFree& one : all) {
        try {
            if (have_ended(one.users)) free_now(g, one.data);
            else free_behind(g, *take_reclaimer(g, true), one.data, one.users);
        } catch (...) {
            // The memory stays allocated, because it may be in use.
            report(std::current_exception());
        }
    }
}

/// Allocates if the pool has no free memory. Releases as much memory as possible, and allows the
/// driver to make the stream wait for memory that was freed on other streams.
CUresult allocate_when_short(Gpu& g, void** data, std::size_t bytes, cudaStream_t stream) noexcept {
    run_cleanups(g);
    RelaxedCapture relaxed;
    order_later_frees(g);
    give_unused_shared_memory_back(g.index);
    destroy_kept_graphs(g.index);
    std::lock_guard lock(g.out_of_memory_mutex);
    note_failure(api.cudaMemPoolTrimTo(g.pool, 0), "cudaMemPoolTrimTo", g.index);
    set_internal_waits(g, 1);
    const CUresult code = allocate_from_pool(g, data, bytes, stream);
    set_internal_waits(g, 0);
    return code;
}

/// Frees memory once polling finds its users done. Used if all reclaimers are waiting, perhaps for
/// a long time.
void free_later(Gpu& g, void* data, PendingUses users) {
    const std::lock_guard lock(g.cleanups_mutex);
    g.later_frees.push_back({data, std::move(users)});
    note_cleanups(g);
}

/// Handles the common case: one stream allocates, uses and frees the memory. Returns false if that
/// stream is closed or belongs to another device.
bool free_on(Gpu& g, const StreamUse& use, void* data) {
    StreamRecord& user = *use.stream;
    if (!user.device.is_cuda() || user.device.index() != g.index) return false;
    CUresult code;
    {
        std::lock_guard life(user.life);
        if (!use.is_same() || user.native == nullptr) return false;
        code = free_in_order(g, data, native_of(user));
    }
    check(code, "cuMemFreeAsync", g.index, {});
    return true;
}

}  // namespace

void do_later_frees(Gpu& g, std::size_t at_once) noexcept {
    std::list<LaterFree> some;
    {
        const std::lock_guard lock(g.cleanups_mutex);
        const auto last =
            std::next(g.later_frees.begin(),
                      static_cast<std::ptrdiff_t>(std::min(at_once, g.later_frees.size())));
        some.splice(some.end(), g.later_frees, g.later_frees.begin(), last);
    }
    HeldUp held_up;
    some.remove_if([&](LaterFree& one) {
        try {
            if (!have_ended(one.users, held_up)) return false;
            free_now(g, one.data);
        } catch (...) {
            report(std::current_exception());  // the memory stays allocated
        }
        return true;
    });
    const std::lock_guard lock(g.cleanups_mutex);
    g.later_frees.splice(g.later_frees.end(), some);
}

void* CudaBackend::allocate(StreamRecord& stream, std::size_t bytes, const SourceLocation& where) {
    Gpu& g = gpu(stream.device.index(), where);
    if (capture_of(stream) != 0)
        unsupported_error({"allocate", where, gpu_device(g.index)},
                          "memory cannot be allocated on a stream that is capturing, because the "
                          "graph would own the memory: allocate it before the capture");
    void* data = nullptr;
    RelaxedWhileCaptured relaxed;
    Submission submission(stream, where);
    CUresult code = allocate_from_pool(g, &data, bytes, native_of(stream));
    if (code == CUDA_ERROR_OUT_OF_MEMORY && trim_kept_memory(stream.device))
        code = allocate_from_pool(g, &data, bytes, native_of(stream));
    if (code == CUDA_ERROR_OUT_OF_MEMORY) {
        code = allocate_when_short(g, &data, bytes, native_of(stream));
        if (code == CUDA_ERROR_OUT_OF_MEMORY) throw_out_of_memory(g, bytes, stream, where);
    }
    check(code, "cuMemAllocFromPoolAsync", stream, where);
    // Counts the allocation as work of this stream, because other streams may use the memory only
    // after it (CUDA C Programming Guide, "Stream Ordered Memory Allocator").
    submission.count();
    if (has_watch()) [[unlikely]]
        mark_allocation(g, stream);
    return data;
}

namespace {

/// Frees memory after all work enqueued so far on its users. Throws if a native call fails; the
/// memory then stays allocated.
void free_after(Gpu& g, void* data, const StreamUse* users, std::size_t user_count) {
    RelaxedWhileCaptured relaxed_here;
    if (user_count == 1 && free_on(g, users[0], data)) return;
    // An internal stream waits for all users, which are not delayed. Users may be closed streams,
    // or may no longer exist.
    RelaxedCapture relaxed;
    PendingUses pending_uses;
    pending_uses.reserve(user_count);
    for (std::size_t i = 0; i < user_count; ++i) add_pending_use(pending_uses, users[i]);
    if (have_ended(pending_uses)) free_now(g, data);
    else if (Reclaimer* on = take_reclaimer(g, false)) free_behind(g, *on, data, pending_uses);
    else free_later(g, data, std::move(pending_uses));
}

/// Frees memory, or defers the free: callbacks must not call CUDA, and in a capture, a free or an
/// event would become part of the graph. If a free fails, retries up to `attempts` times. If out of
/// memory, throws without any effect; throws nothing else.
void free_when_allowed(Gpu& g, void* data, std::vector<StreamUse> users, int attempts) {
    if (g.lost.load(std::memory_order_acquire)) return;
    if (!in_callback && !any_capturing(users.data(), users.size())) {
        try {
            return free_after(g, data, users.data(), users.size());
        } catch (const std::bad_alloc&) {
            throw;
        } catch (...) {
            report(std::current_exception());
            if (attempts == 0) return;  // the memory stays allocated, because it may be in use
        }
        --attempts;
    }
    defer(g, [&g, data, users = std::move(users), attempts] {
        free_when_allowed(g, data, users, attempts);
    });
}

}  // namespace

bool CudaBackend::free(void* data, std::size_t, int device, const StreamUse* users,
                       std::size_t user_count) noexcept try {
    Gpu* g = gpu_if_used(device);
    if (is_forked() || g == nullptr || g->lost.load(std::memory_order_acquire)) return true;
    if (!in_callback && !any_capturing(users, user_count)) {
        try {
            free_after(*g, data, users, user_count);
            if (user_count != 1) run_cleanups(*g);
            return true;
        } catch (const std::bad_alloc&) {
            throw;
        } catch (...) {
            report(std::current_exception());  // retried a few times below
        }
    }
    constexpr int attempts = 2;
    defer(*g, [g, data, list = std::vector<StreamUse>(users, users + user_count)] {
        free_when_allowed(*g, data, list, attempts);
    });
    return true;
} catch (const std::bad_alloc&) {
    return false;
}

Allocated CudaBackend::allocate_pinned(std::size_t bytes, const SourceLocation& where) {
    refuse_forked("pinned", where);
    if (in_callback)
        usage_error({"pinned", where},
                    "pinned memory cannot be allocated in a host function of a CUDA stream, which "
                    "must not call CUDA: allocate it on another thread");
    return pinned_cache().take(bytes, where);
}

bool CudaBackend::free_pinned(void* data, std::size_t bytes, const StreamUse* users,
                              std::size_t user_count) noexcept try {
    if (is_forked()) return true;
    if (in_callback || any_capturing(users, user_count)) {
        for (std::size_t i = 0; i < user_count; ++i) {
            if (!users[i].stream->device.is_cuda()) continue;
            defer(gpu_of(*users[i].stream),
                  [this, data, bytes, list = std::vector<StreamUse>(users, users + user_count)] {
                      if (!free_pinned(data, bytes, list.data(), list.size()))
                          throw std::bad_alloc();
                  });
            return true;
        }
    }
    PendingUses pending_uses;
    if (user_count != 0) {
        RelaxedCapture relaxed;
        for (std::size_t i = 0; i < user_count; ++i) add_pending_use(pending_uses, users[i]);
    }
    pinned_cache().give(data, std::move(pending_uses));
    return true;
} catch (const std::bad_alloc&) {
    return false;
} catch (...) {
    report(std::current_exception());
    return true;  // the block is not reused, because it may be in use
}

bool CudaBackend::classify(const void* data, MemorySpace& space) noexcept {
    // Uses a driver query that needs no context, because classifying a pointer must not initialise
    // a device.
    if (device_count() == 0 || is_forked()) return false;
    unsigned type = 0, managed = 0;
    int device = 0;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* answers[] = {&type, &managed, &device};
    if (api.cuPointerGetAttributes(3, asked, answers, reinterpret_cast<CUdeviceptr>(data)) !=
        CUDA_SUCCESS)
        return false;
    if (type == CU_MEMORYTYPE_DEVICE || managed != 0) {
        if (device < 0) return false;  // managed memory that belongs to no device
        space = {Access::device(DeviceKind::cuda, device), MemoryKind::device};
        return true;
    }
    if (type != CU_MEMORYTYPE_HOST) return false;
    space = {Access::device(DeviceKind::cpu, 0), MemoryKind::pinned};
    return true;
}

}  // namespace heddle::detail::cu
