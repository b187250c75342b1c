// Device enumeration and properties.
#include "cuda/process/devices.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "core/base/errors.hpp"
#include "core/base/format.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/driver_log.hpp"
#include "cuda/device/versions.hpp"

namespace heddle::detail::cu {

namespace {

struct Found {
    int count = 0;
    std::string reason;
};

std::atomic<bool> looking{false};  ///< the driver was started, or is being started
std::atomic<bool> looked{false};   ///< the driver has answered

std::string needed_driver() {
    return formatted(": a program built with CUDA {} needs driver {} or newer",
                     version_text(CUDART_VERSION), oldest_driver);
}

Found look_for_devices() {
    looking.store(true, std::memory_order_relaxed);
    Found found;
    const cudaError_t code =
        api.cudaGetDeviceCount(&found.count);  // starts the driver without making a context
    if (code != cudaSuccess) {
        cudaGetLastError();
        found.count = 0;
        const bool no_driver = code == cudaErrorInsufficientDriver || code == cudaErrorStubLibrary;
        found.reason = formatted(
            "{}: {} ({})", no_driver ? "the driver is missing or too old" : "no device can be used",
            cudaGetErrorName(code), cudaGetErrorString(code));
        if (no_driver) found.reason += needed_driver();
        return found;
    }
    found.count = std::min(found.count, max_devices);
    if (const char* missing = ""; found.count > 0 && !load_driver(missing))
        return {
            0, formatted("the driver is too old, because it lacks {}{}", missing, needed_driver())};
    if (found.count > 0) register_driver_log();
    if (found.count == 0) found.reason = "the driver finds no device";
    return found;
}

const Found& found_devices() {
    // Never destroyed, like all state of the backend, because streams may be used while the process
    // exits.
    static const Found* found = [] {
        auto* answer = new Found(look_for_devices());
        looked.store(true, std::memory_order_release);
        return answer;
    }();
    return *found;
}

}  // namespace

bool is_driver_started() noexcept { return looking.load(std::memory_order_relaxed); }

int CudaBackend::device_count() noexcept {
    // If the process was forked while another thread started the driver, waiting for that thread
    // would hang the child.
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
    // The priority range belongs to a context, so querying it initialises the device. To avoid
    // that, queries a device of the same architecture that is in use: its range is the same.
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
    // Memory that the pool has reserved but does not use counts as free: heddle's allocations can
    // use it.
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

}  // namespace heddle::detail::cu
