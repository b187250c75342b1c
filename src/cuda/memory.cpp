// Memory of devices, allocated and freed in stream order; pinned memory; whose an address is.
#include <new>
#include <utility>
#include <vector>

#include "core/registry.hpp"
#include "cuda/await.hpp"
#include "cuda/backend.hpp"
#include "cuda/fence.hpp"
#include "cuda/pinned_cache.hpp"

namespace heddle::detail::cu {

namespace {

void set_internal_waits(Gpu& g, int allowed) noexcept {
    note_failure(cudaMemPoolSetAttribute(g.pool, cudaMemPoolReuseAllowInternalDependencies, &allowed),
                 "cudaMemPoolSetAttribute", g.index);
}

CUresult allocate_from_pool(Gpu& g, void** data, std::size_t bytes, cudaStream_t stream) noexcept {
    OnStream on(g, stream);
    CUdeviceptr address = 0;
    const CUresult code = driver.allocate_from_pool(&address, bytes, g.pool, stream);
    *data = reinterpret_cast<void*>(address);
    return code;
}

CUresult free_in_order(Gpu& g, void* data, cudaStream_t stream) noexcept {
    OnStream on(g, stream);
    return driver.free_memory(reinterpret_cast<CUdeviceptr>(data), stream);
}

/// The pool had nothing: gives back what can be given back, and allows the driver to make the stream wait for
/// memory that was freed on other streams.
CUresult allocate_when_short(Gpu& g, void** data, std::size_t bytes, cudaStream_t stream) noexcept {
    std::lock_guard lock(g.out_of_memory_mutex);
    do_chores(g);
    RelaxedCapture relaxed;
    note_failure(cudaMemPoolTrimTo(g.pool, 0), "cudaMemPoolTrimTo", g.index);
    set_internal_waits(g, 1);
    const CUresult code = allocate_from_pool(g, data, bytes, stream);
    set_internal_waits(g, 0);
    return code;
}

[[noreturn]] void throw_out_of_memory(Gpu& g, std::size_t bytes, StreamRecord& stream,
                                      const SourceLocation& where) {
    std::size_t free = 0, total = 0;
    {
        RelaxedCapture relaxed;
        InContext in(g);
        if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
    }
    ErrorInfo info =
        stream_error(ErrorCode::out_of_memory, stream,
                     "no " + std::to_string(bytes) + " bytes on cuda:" + std::to_string(g.index) + ": " +
                         std::to_string(free) + " of " + std::to_string(total) + " are free",
                     "cuMemAllocFromPoolAsync", where);
    info.native_code = cudaErrorMemoryAllocation;
    info.native_name = cudaGetErrorName(cudaErrorMemoryAllocation);
    throw_error(std::move(info));
}

/// A stream on which memory is freed that others used: an idle one, so that one long wait does not hold up
/// the rest. Few, because every stream that waits takes part of a hardware queue.
Reclaimer& take_reclaimer(Gpu& g) {
    constexpr std::size_t most = 4;
    std::lock_guard lock(g.reclaim_mutex);
    g.reclaimers.reserve(most);  // references stay good
    for (Reclaimer& r : g.reclaimers)
        if (driver.stream_query(r.stream) == CUDA_SUCCESS) return r;
    if (g.reclaimers.size() < most) {
        InContext in(g);
        Reclaimer fresh{};
        fresh.awaits = AwaitLine::make(g, {});
        check(cudaStreamCreateWithPriority(&fresh.stream, cudaStreamNonBlocking, g.priorities.least),
              "cudaStreamCreateWithPriority", g.index, {});
        g.reclaimers.push_back(fresh);
        return g.reclaimers.back();
    }
    return g.reclaimers[g.last_reclaimer++ % g.reclaimers.size()];
}

/// The common case: one stream allocated, used and frees. False: it is closed, or of another device.
bool free_on(Gpu& g, const StreamUse& use, void* data) noexcept {
    StreamRecord& user = *use.stream;
    if (!user.device.is_cuda() || user.device.index() != g.index) return false;
    CUresult code;
    {
        std::lock_guard life(user.life);
        if (!use.is_same() || user.native == nullptr) return false;
        code = free_in_order(g, data, native_of(user));
    }
    note_failure(code, "cuMemFreeAsync", g.index);  // not under the lock: it may call the user's hook
    return true;
}

}  // namespace

void* CudaBackend::allocate(StreamRecord& stream, std::size_t bytes, const SourceLocation& where) {
    Gpu& g = gpu(stream.device.index(), where);
    if (capture_of(stream) != 0)
        throw_coded(ErrorCode::unsupported,
                    "memory cannot be allocated on a stream that is capturing: the graph would own it. "
                    "Allocate before the "
                    "capture",
                    "allocate", g.index, where);
    void* data = nullptr;
    RelaxedWhileCaptured relaxed;
    CUresult code = allocate_from_pool(g, &data, bytes, native_of(stream));
    if (code == CUDA_ERROR_OUT_OF_MEMORY) {
        code = allocate_when_short(g, &data, bytes, native_of(stream));
        if (code == CUDA_ERROR_OUT_OF_MEMORY) throw_out_of_memory(g, bytes, stream, where);
        count_submission(
            stream);  // perhaps it waits for another stream now: waits on it are no longer redundant
    }
    check(code, "cuMemAllocFromPoolAsync", stream, where);
    return data;
}

void CudaBackend::free(void* data, std::size_t bytes, int device, const StreamUse* users,
                       std::size_t user_count) noexcept {
    Gpu* g = gpu_if_used(device);
    if (is_forked() || g == nullptr || g->lost.load(std::memory_order_acquire)) return;
    try {
        // In a callback nothing of CUDA may be called; in a capture a free, or an event, would become part of
        // the graph.
        if (in_callback || any_capturing(users, user_count)) {
            return defer(*g, [this, data, bytes, device,
                              list = std::vector<StreamUse>(users, users + user_count)] {
                free(data, bytes, device, list.data(), list.size());
            });
        }
        RelaxedWhileCaptured relaxed_here;
        if (user_count == 1 && free_on(*g, users[0], data)) return;
        // No user is held up: a stream of heddle's own waits for all of them. They may be closed, or gone.
        RelaxedCapture relaxed;
        Reclaimer& on = take_reclaimer(*g);
        for (std::size_t i = 0; i < user_count; ++i) wait_for_user(*g, on, users[i]);
        check(free_in_order(*g, data, on.stream), "cuMemFreeAsync", device, {});
        do_chores(*g);
    } catch (...) {
        report(std::current_exception());  // the memory stays allocated: it may be in use
    }
}

void* CudaBackend::allocate_pinned(std::size_t bytes, const SourceLocation& where) {
    refuse_forked("pinned", where);
    if (in_callback)
        throw_usage("a host function of a CUDA stream may not call CUDA, and pinned memory is CUDA's",
                    "pinned", nullptr, where);
    return pinned_cache().take(bytes, where);
}

void CudaBackend::free_pinned(void* data, std::size_t bytes, const StreamUse* users,
                              std::size_t user_count) noexcept {
    if (is_forked()) return;
    try {
        if (in_callback || any_capturing(users, user_count)) {
            for (std::size_t i = 0; i < user_count; ++i) {
                if (!users[i].stream->device.is_cuda()) continue;
                return defer(
                    gpu_of(*users[i].stream),
                    [this, data, bytes, list = std::vector<StreamUse>(users, users + user_count)] {
                        free_pinned(data, bytes, list.data(), list.size());
                    });
            }
        }
        Fences fences;
        if (user_count != 0) {
            RelaxedCapture relaxed;
            for (std::size_t i = 0; i < user_count; ++i) add_fence(fences, users[i]);
        }
        pinned_cache().give(data, std::move(fences));
    } catch (...) {
        report(std::current_exception());  // the block stays taken: it may be in use
    }
}

bool CudaBackend::classify(const void* data, Place& place) noexcept {
    // Asked of the driver, which needs no context for it: looking at a pointer shall not start a device.
    if (device_count() == 0 || is_forked()) return false;
    unsigned type = 0, managed = 0;
    int device = 0;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* answers[] = {&type, &managed, &device};
    if (driver.pointer_attributes(3, asked, answers, reinterpret_cast<CUdeviceptr>(data)) != CUDA_SUCCESS)
        return false;
    if (type == CU_MEMORYTYPE_DEVICE || managed != 0) {
        if (device < 0) return false;  // managed memory without a home on a device
        place = {Device::unchecked(DeviceKind::cuda, device), MemoryKind::device};
        return true;
    }
    if (type != CU_MEMORYTYPE_HOST) return false;
    place = {Device::unchecked(DeviceKind::cpu, 0), MemoryKind::pinned};
    return true;
}

}  // namespace heddle::detail::cu
