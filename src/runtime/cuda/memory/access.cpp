// Access to memory of other GPUs, and the settings of the pools. A table records which access is
// enabled, so that queries need no CUDA call.
#include <atomic>
#include <mutex>
#include <utility>

#include "core/base/made_once.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/memory/access.hpp"
#include "cuda/memory/kept_graphs.hpp"
#include "cuda/memory/shared_memory.hpp"
#include <heddle/device/peer_access.hpp>
#include <heddle/memory/pool.hpp>

namespace heddle::detail::cu {

namespace {

struct AccessTable {
    std::mutex mutex;  ///< held while access is changed
    std::atomic<bool> enabled[2][max_devices][max_devices];
    /// Peer access that was enabled outside heddle. heddle must not disable it.
    bool of_others[max_devices][max_devices] = {};
};
constinit NeverDestroyed<AccessTable> instance;
AccessTable& table() noexcept { return instance.get(); }
std::atomic<bool>& entry(AccessKind kind, int device, int peer) {
    return table().enabled[static_cast<int>(kind)][device][peer];
}

void switch_peer(int device, int peer, bool on, const SourceLocation& where) {
    InContext in(gpu(device, where));
    bool& of_others = table().of_others[device][peer];
    if (!on && std::exchange(of_others, false)) return;
    const cudaError_t code =
        on ? api.cudaDeviceEnablePeerAccess(peer, 0) : api.cudaDeviceDisablePeerAccess(peer);
    if (code == cudaErrorPeerAccessAlreadyEnabled || code == cudaErrorPeerAccessNotEnabled) {
        cudaGetLastError();
        of_others = on;
        return;
    }
    check(code, on ? "cudaDeviceEnablePeerAccess" : "cudaDeviceDisablePeerAccess", device, where);
}

void switch_pool(int device, int peer, bool on, const SourceLocation& where) {
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = device;
    access.flags = on ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
    gpu(device, where);  // initialises the device that obtains access
    check(api.cudaMemPoolSetAccess(gpu(peer, where).pool, &access, 1), "cudaMemPoolSetAccess", peer,
          where);
}

std::size_t attribute(Gpu& g, cudaMemPoolAttr which, const SourceLocation& where) {
    std::uint64_t value = 0;
    check(api.cudaMemPoolGetAttribute(g.pool, which, &value), "cudaMemPoolGetAttribute", g.index,
          where);
    return static_cast<std::size_t>(value);
}
void set_attribute(Gpu& g, cudaMemPoolAttr which, std::uint64_t value,
                   const SourceLocation& where) {
    check(api.cudaMemPoolSetAttribute(g.pool, which, &value), "cudaMemPoolSetAttribute", g.index,
          where);
}

}  // namespace

bool open_pools(Device a, Device b, const SourceLocation& where) {
    if (!a.can_access_pool(b) || !b.can_access_pool(a)) return false;
    enable_pool_access(a, b, where);
    enable_pool_access(b, a, where);
    return true;
}

void CudaBackend::set_access(AccessKind kind, int device, int peer, bool on,
                             const SourceLocation& where) {
    refuse_forked("enable_peer_access", where);
    std::atomic<bool>& enabled = entry(kind, device, peer);
    const std::lock_guard lock(table().mutex);
    if (enabled.load(std::memory_order_relaxed) == on) return;
    RelaxedCapture relaxed;
    if (kind == AccessKind::peer) switch_peer(device, peer, on, where);
    else switch_pool(device, peer, on, where);
    enabled.store(on, std::memory_order_release);
}

bool CudaBackend::has_access(AccessKind kind, int device, int peer) noexcept {
    return device == peer || entry(kind, device, peer).load(std::memory_order_acquire);
}

bool CudaBackend::peer_reachable(int device, int memory_device) noexcept {
    return has_access(AccessKind::pool, device, memory_device);
}

PoolUsage CudaBackend::pool_usage(int device, const SourceLocation& where) {
    Gpu& g = gpu(device, where);
    return {attribute(g, cudaMemPoolAttrUsedMemCurrent, where),
            attribute(g, cudaMemPoolAttrUsedMemHigh, where),
            attribute(g, cudaMemPoolAttrReservedMemCurrent, where),
            attribute(g, cudaMemPoolAttrReservedMemHigh, where)};
}

void CudaBackend::reset_pool_high_water(int device, const SourceLocation& where) {
    Gpu& g = gpu(device, where);
    set_attribute(g, cudaMemPoolAttrUsedMemHigh, 0, where);
    set_attribute(g, cudaMemPoolAttrReservedMemHigh, 0, where);
}

std::size_t CudaBackend::pool_release_threshold(int device, const SourceLocation& where) {
    return attribute(gpu(device, where), cudaMemPoolAttrReleaseThreshold, where);
}
void CudaBackend::set_pool_release_threshold(int device, std::size_t bytes,
                                             const SourceLocation& where) {
    set_attribute(gpu(device, where), cudaMemPoolAttrReleaseThreshold, bytes, where);
}
void CudaBackend::trim_pool(int device, std::size_t keep, const SourceLocation& where) {
    Gpu& g = gpu(device, where);
    RelaxedCapture relaxed;
    check(api.cudaMemPoolTrimTo(g.pool, keep), "cudaMemPoolTrimTo", device, where);
    give_unused_shared_memory_back(device);
    destroy_kept_graphs(device);
}

}  // namespace heddle::detail::cu
