// Device enumeration and properties, waiting for a whole device, and forks.
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/made_once.hpp"
#include "core/failure/told.hpp"
#include "core/stream/registry.hpp"
#include "cuda/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/host_sync/probe.hpp"
#include "cuda/host_sync/watcher.hpp"
#include "cuda/observe/cupti.hpp"
#include "cuda/observe/timing.hpp"
#include "cuda/stream/native_event.hpp"

namespace heddle::detail {

namespace cu {

namespace {

struct Found {
    int count = 0;
    std::string reason;
};

std::atomic<bool> looking{false};  ///< the driver was started, or is being started
std::atomic<bool> looked{false};   ///< the driver has answered

Found look_for_devices() {
    looking.store(true, std::memory_order_relaxed);
    Found found;
    const cudaError_t code =
        api.cudaGetDeviceCount(&found.count);  // starts the driver without making a context
    if (code != cudaSuccess) {
        cudaGetLastError();
        found.count = 0;
        const bool no_driver = code == cudaErrorInsufficientDriver || code == cudaErrorStubLibrary;
        found.reason =
            formatted("{}: {} ({})", no_driver ? "no driver, or one too old" : "no device works",
                      cudaGetErrorName(code), cudaGetErrorString(code));
        return found;
    }
    found.count = std::min(found.count, max_devices);
    if (const char* missing = ""; found.count > 0 && !load_driver(missing))
        return {0, std::string("the driver is too old: it has no ") + missing};
    if (found.count == 0) found.reason = "the driver sees no device";
    return found;
}

const Found& found_devices() {
    // Leaked, like everything in the backend, because streams may be used while the process exits.
    static const Found* found = [] {
        auto* answer = new Found(look_for_devices());
        looked.store(true, std::memory_order_release);
        return answer;
    }();
    return *found;
}

/// The end of the work enqueued so far, for each stream of a device. For synchronize_device().
struct Points {
    struct Point {
        StreamRecord* stream;
        std::uint64_t submissions;
        cudaEvent_t event;
        bool is_closed;
    };
    Gpu& g;
    std::vector<Point> all;
    ~Points() { release(); }
    void release() noexcept {
        for (const Point& p : all) {
            if (p.is_closed) p.stream->pins.fetch_sub(1, std::memory_order_release);
            else give_event(g, p.event);
        }
        all.clear();
    }
};

}  // namespace

namespace {
constinit NeverDestroyed<CudaBackend> instance;
}
CudaBackend& the_backend() noexcept { return instance.get(); }

int CudaBackend::device_count() noexcept {
    // In a child that was forked while another thread started the driver, waiting for it would
    // hang.
    if (is_forked() && !looked.load(std::memory_order_acquire)) return 0;
    try {
        return found_devices().count;
    } catch (...) {
        return 0;  // out of memory
    }
}

std::string CudaBackend::unavailable_reason() {
    if (is_forked() && !looked.load(std::memory_order_acquire))
        return "this process was forked while CUDA was starting";
    return found_devices().reason;
}

DeviceInfo CudaBackend::describe(int device) {
    const SourceLocation nowhere;
    refuse_forked("Device::info", nowhere);
    cudaDeviceProp p{};
    check(api.cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties", device, nowhere);
    DeviceInfo info;
    info.name = p.name;
    info.total_memory = p.totalGlobalMem;
    info.copy_engines = p.asyncEngineCount;
    info.processors = p.multiProcessorCount;
    info.compute_major = p.major;
    info.compute_minor = p.minor;
    char bus_id[32] = {};
    check(api.cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device), "cudaDeviceGetPCIBusId", device,
          nowhere);
    info.bus_id = bus_id;
    // The priority range belongs to a context, so querying it would initialise the device. Devices
    // of one architecture have the same range, so a device in use is preferred.
    for (int other = 0; other < device_count(); ++other) {
        const Gpu* g = gpu_if_used(other);
        if (g == nullptr) continue;
        int major = 0, minor = 0;
        if (other != device &&
            (api.cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, other) !=
                 cudaSuccess ||
             api.cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, other) !=
                 cudaSuccess ||
             major != p.major || minor != p.minor))
            continue;
        info.priorities = g->priorities;
        return info;
    }
    info.priorities = gpu(device, nowhere).priorities;
    return info;
}

std::size_t CudaBackend::free_memory(int device) {
    const SourceLocation nowhere;
    Gpu& g = gpu(device, nowhere);
    RelaxedCapture relaxed;
    InContext in(g);
    std::size_t free = 0, total = 0;
    check(api.cudaMemGetInfo(&free, &total), "cudaMemGetInfo", device, nowhere);
    // Memory that the pool has reserved but not used is free for heddle's allocations.
    std::uint64_t reserved = 0, used = 0;
    check(api.cudaMemPoolGetAttribute(g.pool, cudaMemPoolAttrReservedMemCurrent, &reserved),
          "cudaMemPoolGetAttribute", device, nowhere);
    check(api.cudaMemPoolGetAttribute(g.pool, cudaMemPoolAttrUsedMemCurrent, &used),
          "cudaMemPoolGetAttribute", device, nowhere);
    return free + static_cast<std::size_t>(reserved > used ? reserved - used : 0);
}

bool CudaBackend::can_access_peer(int device, int other) {
    const SourceLocation nowhere;
    refuse_forked("Device::can_access_peer", nowhere);
    if (device == other) return true;
    int can = 0;
    check(api.cudaDeviceCanAccessPeer(&can, device, other), "cudaDeviceCanAccessPeer", device,
          nowhere);
    return can != 0;
}

bool CudaBackend::can_access_pool(int device, int other) {
    if (!can_access_peer(device, other)) return false;
    int pools = 0;
    check(api.cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, other),
          "cudaDeviceGetAttribute", other, {});
    return pools != 0;
}

int CudaBackend::concurrent_queues(int) {
    // Source: CUDA programming guide, environment variables: 1 to 32, 8 by default.
    const char* text = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const int wanted = text != nullptr ? std::atoi(text) : 0;
    return wanted > 0 ? std::min(wanted, 32) : 8;
}

void CudaBackend::synchronize_device(int device, const SourceLocation& where) {
    refuse_forked("synchronize_device", where);
    Gpu* g = gpu_if_used(device);
    if (g == nullptr || g->lost.load(std::memory_order_acquire))
        return;  // core reports the failure
    RelaxedCapture relaxed;
    // Waits for each stream, except for capturing ones, whose work does not run now. Waits for
    // events, because other threads may destroy their streams meanwhile. Closed streams are pinned,
    // so that they keep their final event.
    std::vector<StreamRecord*> streams;
    for_each_stream([&](StreamRecord& s) {
        if (s.device.is_cuda() && s.device.index() == device) streams.push_back(&s);
    });
    Points points{*g, {}};
    points.all.reserve(streams.size());
    bool any_capture = false;
    Failure failed;
    cudaEvent_t spare = nullptr;
    for (StreamRecord* s : streams) {
        if (spare == nullptr) spare = take_event(*g, where);
        const std::lock_guard life(s->life);
        const std::uint64_t given = s->submissions.load(std::memory_order_acquire);
        if (s->native == nullptr) {
            if (s->final_event == nullptr) continue;
            s->pins.fetch_add(1, std::memory_order_relaxed);
            points.all.push_back({s, given, static_cast<cudaEvent_t>(s->final_event), true});
            continue;
        }
        if (capture_of(*s) != 0) {
            any_capture = true;
            continue;
        }
        const CUresult code = record_on(*g, spare, static_cast<cudaStream_t>(s->native));
        if (code == CUDA_SUCCESS)
            points.all.push_back({s, given, std::exchange(spare, nullptr), false});
        else if (failed == nullptr)
            failed = failure_from(as_runtime(code), "cuEventRecord", device);
    }
    give_event(*g, spare);
    for (const Points::Point& p : points.all) {
        const CUresult code = api.cuEventSynchronize(p.event);
        if (is_sticky(as_runtime(code)))
            mark_lost(device, as_runtime(code), "cuEventSynchronize", nullptr, where);
        else if (code != CUDA_SUCCESS && failed == nullptr)
            failed = failure_from(as_runtime(code), "cuEventSynchronize", device);
        else if (code == CUDA_SUCCESS && !p.is_closed) see_complete(*p.stream, p.submissions);
    }
    points.release();
    if (failed != nullptr && !g->lost.load(std::memory_order_acquire)) throw_failure(failed);
    if (g->lost.load(std::memory_order_acquire)) return;
    if (!any_capture) {
        // Also waits for work on streams outside heddle. While a stream captures, the call would be
        // refused or invalidate the capture.
        InContext in(*g);
        const cudaError_t code = api.cudaDeviceSynchronize();
        if (is_sticky(code)) {
            cudaGetLastError();
            mark_lost(device, code, "cudaDeviceSynchronize", nullptr, where);
        } else if (code >= cudaErrorStreamCaptureUnsupported &&
                   code <= cudaErrorStreamCaptureWrongThread) {
            // A capture outside heddle. heddle's own streams are done, as promised.
            cudaGetLastError();
        } else {
            check(code, "cudaDeviceSynchronize", device, where);
        }
    }
    finish_chores(*g);  // recycles closed streams, whose failures are then reported
}

void CudaBackend::poll_outstanding() noexcept {
    if (is_forked() || in_callback) return;
    (void)look_at_exit();
    for (int i = 0; i < max_devices; ++i) {
        Gpu* g = gpu_if_used(i);
        if (g == nullptr || g->lost.load(std::memory_order_acquire)) continue;
        do_chores(*g);
    }
}

void CudaBackend::tell_ended_runs() noexcept { tell_timed_ops(); }
std::string CudaBackend::begin_records() { return begin_cupti(); }
void CudaBackend::end_records() noexcept { end_cupti(); }
RecordCounts CudaBackend::record_counts() noexcept { return cupti_counts(); }

bool CudaBackend::help_at_exit(const Completion&) noexcept {
    return !is_forked() && !in_callback && look_at_exit();
}

void CudaBackend::after_fork() noexcept {
    if (looking.load(std::memory_order_relaxed))
        set_forked();  // a started driver does not survive a fork
    forget_watcher();
    forget_probe();
}

}  // namespace cu

Backend& cuda_backend() noexcept { return cu::the_backend(); }

}  // namespace heddle::detail
