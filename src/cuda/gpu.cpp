#include "cuda/gpu.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

#include "core/background.hpp"
#include "core/registry.hpp"
#include "cuda/condition_kernel.hpp"
#include "cuda/fence.hpp"
#include "cuda/fill_kernels.hpp"

namespace heddle::detail::cu {

namespace {

std::atomic<Gpu*>
    used_gpus[max_devices];  // never given back: pending work may need them until the process is gone
std::mutex& start_mutex() {
    static auto* mutex = new std::mutex;
    return *mutex;
}

Limits ask_limits(int device, const SourceLocation& where) {
    const auto ask = [&](cudaDeviceAttr what) {
        int value = 0;
        check(api.cudaDeviceGetAttribute(&value, what, device), "cudaDeviceGetAttribute", device, where);
        return value;
    };
    Limits l;
    l.max_threads_per_block = ask(cudaDevAttrMaxThreadsPerBlock);
    l.max_block[0] = ask(cudaDevAttrMaxBlockDimX);
    l.max_block[1] = ask(cudaDevAttrMaxBlockDimY);
    l.max_block[2] = ask(cudaDevAttrMaxBlockDimZ);
    l.max_grid[0] = ask(cudaDevAttrMaxGridDimX);
    l.max_grid[1] = ask(cudaDevAttrMaxGridDimY);
    l.max_grid[2] = ask(cudaDevAttrMaxGridDimZ);
    l.max_shared = ask(cudaDevAttrMaxSharedMemoryPerBlock);
    l.max_shared_opt_in = ask(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    l.processors = ask(cudaDevAttrMultiProcessorCount);
    l.is_hopper = ask(cudaDevAttrComputeCapabilityMajor) >= 9;
    return l;
}

/// Asking for a function's attributes loads it onto the current device. Source: CUDA programming guide, lazy loading.
void load_kernel(const void* kernel, int device, const SourceLocation& where) {
    cudaFuncAttributes unused;
    check(api.cudaFuncGetAttributes(&unused, kernel), "cudaFuncGetAttributes", device, where);
}

/// A pool of heddle's own, so that the default pool's settings stay whatever others made them.
cudaMemPool_t make_pool(int device, const SourceLocation& where) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = cudaMemHandleTypeNone;
    properties.location = {};
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    cudaMemPool_t pool = nullptr;
    check(api.cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate", device, where);
    const auto set = [&](cudaMemPoolAttr what, void* value) {
        const cudaError_t code = api.cudaMemPoolSetAttribute(pool, what, value);
        if (code != cudaSuccess) note_failure(api.cudaMemPoolDestroy(pool), "cudaMemPoolDestroy", device);
        check(code, "cudaMemPoolSetAttribute", device, where);
    };
    // Memory stays with the pool: giving it back at every synchronisation costs 34 µs an allocation instead
    // of 2 (measured on an H200).
    std::uint64_t keep_all = UINT64_MAX;
    set(cudaMemPoolAttrReleaseThreshold, &keep_all);
    // No hidden waits: the pool may not make a stream wait for another one's free in order to reuse its
    // memory. When memory is short, allocate() allows it after all.
    int no = 0;
    set(cudaMemPoolReuseAllowInternalDependencies, &no);
    return pool;
}

Gpu& start(int index, const SourceLocation& where) {
    std::lock_guard lock(start_mutex());
    if (Gpu* g = used_gpus[index].load(std::memory_order_acquire)) return *g;
    auto g = std::make_unique<Gpu>();
    g->index = index;
    RelaxedCapture relaxed;  // somebody's capture may be open while this device is first used
    CUdevice device = 0;
    check(api.cuDeviceGet(&device, index), "cuDeviceGet", index, where);
    check(api.cuDevicePrimaryCtxRetain(&g->context, device), "cuDevicePrimaryCtxRetain", index, where);
    InContext in(*g);
    check(api.cudaDeviceGetStreamPriorityRange(&g->priorities.least, &g->priorities.greatest),
          "cudaDeviceGetStreamPriorityRange", index, where);
    g->limits = ask_limits(index, where);
    // Code loaded later would wait for the device to be idle, and its caller with it.
    for (const void* kernel : fill_kernels()) load_kernel(kernel, index, where);
    load_kernel(condition_kernel(), index, where);
    g->pool = make_pool(index, where);
    used_gpus[index].store(g.get(), std::memory_order_release);
    return *g.release();
}

}  // namespace

Gpu* gpu_if_used(int index) noexcept {
    return index >= 0 && index < max_devices ? used_gpus[index].load(std::memory_order_acquire) : nullptr;
}

Gpu& gpu(int index, const SourceLocation& where) {
    refuse_forked("heddle", where);
    Gpu* g = gpu_if_used(index);
    if (g == nullptr) g = &start(index, where);
    if (g->lost.load(std::memory_order_acquire)) throw_error(*g->failure);
    return *g;
}

cudaEvent_t take_event(Gpu& g, const SourceLocation& where) {
    {
        std::lock_guard lock(g.event_mutex);
        if (!g.free_events.empty()) {
            cudaEvent_t event = g.free_events.back();
            g.free_events.pop_back();
            return event;
        }
    }
    InContext in(g);
    cudaEvent_t event = nullptr;
    check(api.cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags", g.index,
          where);
    return event;
}

void give_event(Gpu& g, cudaEvent_t event) noexcept {
    if (event == nullptr) return;
    try {
        std::lock_guard lock(g.event_mutex);
        g.free_events.push_back(event);
    } catch (...) {
        // no memory for the list: the event is lost to it
    }
}

bool is_reached(Gpu& g, cudaEvent_t event) noexcept {
    if (g.lost.load(std::memory_order_acquire)) return true;
    const CUresult code = api.cuEventQuery(event);
    if (code == CUDA_ERROR_NOT_READY) return false;
    note_failure(code, "cuEventQuery", g.index);
    // Where the driver cannot say, what the event stands for may still be under way: it is asked again.
    return code == CUDA_SUCCESS || is_sticky(as_runtime(code)) || is_unloading(as_runtime(code));
}

std::uint64_t capture_of(Gpu& g, cudaStream_t stream) noexcept {
    OnStream on(g, stream);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    const CUresult code =
        api.cuStreamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
    // The legacy stream beside somebody's capture on a blocking stream: as good as capturing, it cannot be
    // used.
    if (code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return UINT64_MAX;
    if (code != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE) return 0;
    // A spoiled capture has no id any more, but it is one until it is ended.
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id != 0 ? id : UINT64_MAX;
}

void note_chores(Gpu& g) noexcept {
    g.chores.store(g.zombies.size() + g.deferred.size() + g.later_frees.size(), std::memory_order_relaxed);
    if (g.is_polled || (g.deferred.empty() && g.later_frees.empty())) return;
    // A program may go on for long without any of the calls that do chores.
    try {
        static std::once_flag once;
        std::call_once(once, end_background_at_exit);
        poll_in_background([&g] {
            do_chores_now(g);
            const std::lock_guard lock(g.chores_mutex);
            g.is_polled = !g.deferred.empty() || !g.later_frees.empty();
            return !g.is_polled;
        });
        g.is_polled = true;
    } catch (...) {
        // no memory, or no thread: those who call do them
    }
}

void defer(Gpu& g, std::function<void()> action) {
    std::lock_guard lock(g.chores_mutex);
    g.deferred.push_back(std::move(action));
    note_chores(g);
}

void do_chores_now(Gpu& g) noexcept {
    constexpr std::size_t at_once = 16;  // each costs a query: a caller shall not pay for hundreds
    if (in_callback || is_forked()) return;
    std::list<Zombie> zombies;
    std::list<std::function<void()>> actions;
    std::size_t taken = 0;
    {
        const std::lock_guard lock(g.chores_mutex);
        const auto last =
            std::next(g.zombies.begin(), static_cast<std::ptrdiff_t>(std::min(at_once, g.zombies.size())));
        zombies.splice(zombies.end(), g.zombies, g.zombies.begin(), last);
        g.zombies_in_hand += taken = zombies.size();
        actions.swap(g.deferred);
    }
    RelaxedCapture relaxed;
    zombies.remove_if([&](Zombie& z) { return bury(g, z); });
    do_later_frees(g, at_once);
    for (auto& action : actions) {
        try {
            action();
        } catch (...) {
            report(std::current_exception());
        }
    }
    const std::lock_guard lock(g.chores_mutex);
    g.zombies.splice(g.zombies.end(), zombies);
    g.zombies_in_hand -= taken;
    note_chores(g);
}

}  // namespace heddle::detail::cu
