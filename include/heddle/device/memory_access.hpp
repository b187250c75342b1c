// Direct access to memory of other devices, and the memory pools of devices.
#pragma once

#include <cstddef>

#include <heddle/device/device.hpp>
#include <heddle/error.hpp>

namespace heddle {

/// Lets kernels on `device` read and write memory of `peer`. There are two independent switches:
/// - *peer access* is for memory from cudaMalloc and similar calls, which shareable arrays use;
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
/// Returns whether `device` has peer access to memory of `peer`. Returns true if both are the same
/// device, and for two CPU devices.
bool is_peer_access_enabled(Device device, Device peer);

/// Lets kernels on `device` read and write memory of `peer`'s pool, which holds heddle's arrays.
/// See enable_peer_access().
void enable_pool_access(Device device, Device peer, Where where = {});
/// Ends pool access of `device` to memory of `peer`. Idempotent and thread-safe.
/// Throws UsageError for devices of different kinds.
void disable_pool_access(Device device, Device peer, Where where = {});
/// Returns whether `device` has pool access to memory of `peer`. Returns true if both are the same
/// device, and for two CPU devices.
bool is_pool_access_enabled(Device device, Device peer);

/// Enables pool access in both directions until its destruction. The destructor disables only the
/// directions that the constructor enabled. Throws as enable_pool_access(). Errors on destruction
/// are passed to the report hook.
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
/// Enables peer access in both directions until its destruction. Otherwise the same as
/// ScopedPoolAccess.
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

/// Usage of a device's memory pool, in bytes. CPU devices have no pool: there, `reserved` is memory
/// in use or cached by streams (heddle/memory/statistics.hpp).
struct PoolUsage {
    std::size_t used = 0;  ///< in use by arrays now
    /// High-water mark of `used` since the last reset. An upper bound: it may include memory that
    /// streams cached.
    std::size_t used_high = 0;
    std::size_t reserved = 0;       ///< allocated from the device now
    std::size_t reserved_high = 0;  ///< high-water mark of `reserved`
};
/// Returns the usage of the device's pool and its high-water marks. Thread-safe.
PoolUsage pool_usage(Device device, Where where = {});
/// Resets used_high and reserved_high to the current values.
void reset_pool_high_water(Device device, Where where = {});

/// Returns the bytes of unused memory that the pool keeps when the host waits for a stream or
/// event. By default the pool keeps all of it, because an allocation from the device takes about 17
/// times as long as one from the pool (H200). Returns 0 for CPU devices.
std::size_t pool_release_threshold(Device device, Where where = {});
/// Sets pool_release_threshold(). Throws Unsupported for CPU devices. Thread-safe.
void set_pool_release_threshold(Device device, std::size_t bytes, Where where = {});
/// Releases the pool's unused memory to the device, except for `keep` bytes. Before that, returns
/// to the pool the memory that streams cache for later arrays. Memory counts as used until its
/// stream has reached the free. Also destroys the idle streams that fork_join() caches for the
/// device.
///
/// Also releases the memory of destroyed graphs with conditional nodes, and of destroyed shareable
/// and imported arrays whose work a background thread has found complete. If there is any such
/// memory, the call waits for all work of the device. While a GPU waits for a CPU stream, the call
/// leaves that memory alone.
void trim_pool(Device device, std::size_t keep = 0, Where where = {});

}  // namespace heddle
