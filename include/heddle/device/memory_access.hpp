// Direct access to other devices' memory, and the pools that device memory comes from.
#pragma once

#include <cstddef>

#include <heddle/device/device.hpp>
#include <heddle/error.hpp>

namespace heddle {

/// Lets kernels on `device` read and write memory of `peer`. There are two independent switches:
/// - *peer access* is for memory from cudaMalloc and the like, which shareable arrays use;
/// - *pool access* is for the memory of heddle's other arrays.
///
/// Both are directional. Kernels that use another device's array need the switch that matches its
/// memory. Copies between devices need neither, but are faster with pool access. CPU devices always
/// reach each other.
///
/// Idempotent and thread-safe. Throws Unsupported if the devices cannot reach each other
/// (Device::can_access_peer, can_access_pool), and UsageError for devices of different kinds. Do
/// not disable access that pending work uses.
void enable_peer_access(Device device, Device peer, Where where = {});
/// Ends peer access of `device` to memory of `peer`. Idempotent and thread-safe.
/// Throws UsageError for devices of different kinds.
void disable_peer_access(Device device, Device peer, Where where = {});
/// Returns whether `device` has peer access to memory of `peer`. True for one and the same device,
/// and between CPU devices.
bool is_peer_access_enabled(Device device, Device peer);

/// Lets kernels on `device` read and write memory of `peer`'s pool, which holds heddle's arrays.
/// See enable_peer_access().
void enable_pool_access(Device device, Device peer, Where where = {});
/// Ends pool access of `device` to memory of `peer`. Idempotent and thread-safe.
/// Throws UsageError for devices of different kinds.
void disable_pool_access(Device device, Device peer, Where where = {});
/// Returns whether `device` has pool access to memory of `peer`. True for one and the same device,
/// and between CPU devices.
bool is_pool_access_enabled(Device device, Device peer);

/// Enables pool access in both directions and, on destruction, disables what it has enabled.
/// Throws as enable_pool_access(); errors on destruction go to the report hook.
///
///     ScopedPoolAccess access(Device("cuda:0"), Device("cuda:1"));
class ScopedPoolAccess {
public:
    /// Enables access that is not enabled yet, in both directions.
    [[nodiscard]] ScopedPoolAccess(Device a, Device b, Where where = {});
    ~ScopedPoolAccess();
    ScopedPoolAccess(const ScopedPoolAccess&) = delete;
    ScopedPoolAccess& operator=(const ScopedPoolAccess&) = delete;

private:
    Device a_, b_;
    bool a_had_, b_had_;
};
/// The same for peer access.
class ScopedPeerAccess {
public:
    /// Enables access that is not enabled yet, in both directions.
    [[nodiscard]] ScopedPeerAccess(Device a, Device b, Where where = {});
    ~ScopedPeerAccess();
    ScopedPeerAccess(const ScopedPeerAccess&) = delete;
    ScopedPeerAccess& operator=(const ScopedPeerAccess&) = delete;

private:
    Device a_, b_;
    bool a_had_, b_had_;
};

/// Memory of a device's pool, in bytes. CPU devices have no pool: reserved memory is in use, or
/// kept by streams for later arrays (heddle/memory/statistics.hpp).
struct PoolUsage {
    std::size_t used = 0;  ///< by arrays now
    /// Maximum of `used` since the last reset, or more: memory that streams kept then may count.
    std::size_t used_high = 0;
    std::size_t reserved = 0;       ///< allocated from the device now
    std::size_t reserved_high = 0;  ///< maximum of `reserved` since the last reset
};
/// Returns how much memory the device's pool holds now, and has held. Thread-safe.
PoolUsage pool_usage(Device device, Where where = {});
/// Resets used_high and reserved_high to the current values.
void reset_pool_high_water(Device device, Where where = {});

/// Returns how many bytes of unused memory the pool keeps when the host waits for a stream or
/// event. By default it keeps all of it: an allocation from the device takes some 17 times as long
/// as one from the pool (H200). 0 for CPU devices, where setting it throws Unsupported.
std::size_t pool_release_threshold(Device device, Where where = {});
/// Sets pool_release_threshold(). Thread-safe.
void set_pool_release_threshold(Device device, std::size_t bytes, Where where = {});
/// Returns to the pool the memory that streams keep for later arrays, then releases the pool's
/// unused memory to the device, except for `keep` bytes. Memory counts as used until its stream has
/// reached the free. Ends the idle streams that fork_join() keeps for the device.
///
/// Also releases the memory of destroyed shareable and imported arrays, once a background thread
/// has seen that their work is done, and that of destroyed graphs with conditional nodes. If there
/// is any, the call waits for all work of the device; while a GPU waits for a CPU stream, it leaves
/// that memory alone.
void trim_pool(Device device, std::size_t keep = 0, Where where = {});

}  // namespace heddle
