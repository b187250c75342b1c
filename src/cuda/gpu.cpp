#include "cuda/gpu.hpp"

#include <memory>

#include "core/registry.hpp"
#include "cuda/condition_kernel.hpp"
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
        check(cudaDeviceGetAttribute(&value, what, device), "cudaDeviceGetAttribute", device, where);
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

/// A pool of heddle's own, so that the default pool's settings stay whatever others made them.
cudaMemPool_t make_pool(int device, const SourceLocation& where) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = cudaMemHandleTypeNone;
    properties.location = {};
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    cudaMemPool_t pool = nullptr;
    check(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate", device, where);
    // Memory stays with the pool: giving it back at every synchronisation costs 34 µs an allocation instead
    // of 2 (measured on an H200).
    std::uint64_t keep_all = UINT64_MAX;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all),
          "cudaMemPoolSetAttribute", device, where);
    // No hidden waits: the pool may not make a stream wait for another one's free in order to reuse its
    // memory. When memory is short, allocate() allows it after all.
    int no = 0;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &no),
          "cudaMemPoolSetAttribute", device, where);
    return pool;
}

Gpu& start(int index, const SourceLocation& where) {
    std::lock_guard lock(start_mutex());
    if (Gpu* g = used_gpus[index].load(std::memory_order_acquire)) return *g;
    auto g = std::make_unique<Gpu>();
    g->index = index;
    RelaxedCapture relaxed;  // somebody's capture may be open while this device is first used
    CUdevice device = 0;
    check(driver.device_get(&device, index), "cuDeviceGet", index, where);
    check(driver.primary_context(&g->context, device), "cuDevicePrimaryCtxRetain", index, where);
    InContext in(*g);
    check(cudaDeviceGetStreamPriorityRange(&g->priorities.least, &g->priorities.greatest),
          "cudaDeviceGetStreamPriorityRange", index, where);
    g->limits = ask_limits(index, where);
    // Code loaded later would wait for the device to be idle, and its caller with it.
    const char* call = "";
    check(load_fill_kernels(call), call, index, where);
    check(load_condition_kernel(call), call, index, where);
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
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags", g.index,
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
    const CUresult code = driver.event_query(event);
    if (code == CUDA_ERROR_NOT_READY) return false;
    note_failure(code, "cuEventQuery", g.index);
    return true;
}

std::uint64_t capture_of(Gpu& g, cudaStream_t stream) noexcept {
    OnStream on(g, stream);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    const CUresult code = driver.capture_info(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
    // The legacy stream beside somebody's capture on a blocking stream: as good as capturing, it cannot be
    // used.
    if (code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return UINT64_MAX;
    if (code != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE) return 0;
    // A spoiled capture has no id any more, but it is one until it is ended.
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id != 0 ? id : UINT64_MAX;
}

void defer(Gpu& g, std::function<void()> action) {
    std::lock_guard lock(g.chores_mutex);
    g.deferred.push_back(std::move(action));
    g.chores.store(static_cast<int>(g.zombies.size() + g.deferred.size()), std::memory_order_relaxed);
}

void do_chores_now(Gpu& g) noexcept {
    constexpr std::ptrdiff_t at_once = 16;  // each costs a query: a caller shall not pay for hundreds
    if (in_callback || is_forked()) return;
    std::vector<Zombie> zombies;
    std::vector<std::function<void()>> actions;
    try {
        std::lock_guard lock(g.chores_mutex);
        const auto last = g.zombies.begin() + std::min<std::ptrdiff_t>(at_once, std::ssize(g.zombies));
        zombies.assign(g.zombies.begin(), last);
        g.zombies.erase(g.zombies.begin(), last);
        actions.swap(g.deferred);
    } catch (...) {
        return;  // no memory: another time
    }
    RelaxedCapture relaxed;
    std::erase_if(zombies, [&](Zombie& z) { return bury(g, z); });
    for (auto& action : actions) {
        try {
            action();
        } catch (...) {
            report(std::current_exception());
        }
    }
    try {
        std::lock_guard lock(g.chores_mutex);
        g.zombies.insert(g.zombies.end(), zombies.begin(), zombies.end());
        g.chores.store(static_cast<int>(g.zombies.size() + g.deferred.size()), std::memory_order_relaxed);
    } catch (...) {
        report(std::current_exception());  // their records are lost, nothing else
    }
}

}  // namespace heddle::detail::cu
