// Direct access to memory of other devices.
#pragma once

#include <heddle/device/device.hpp>
#include <heddle/location.hpp>

namespace heddle HEDDLE_VISIBLE {

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

/// Enables pool access in both directions until its destruction.
///
///     ScopedPoolAccess access(Device("cuda:0"), Device("cuda:1"));
///     launch(of_0, Scale{}, dim(n), 2.0f, on_1);  // a stream of cuda:0, an array of cuda:1
///     of_0.synchronize();                         // before the access ends
///
/// Lifetime: the destructor disables only the directions that the constructor enabled. Nest objects
/// for the same two devices: the one that enabled the access ends it for all.
///
/// Errors: throws as enable_pool_access(). Errors on destruction are passed to the report hook.
/// Threads: the access applies to all threads.
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
/// Enables peer access in both directions until its destruction. Example, lifetime, errors and
/// threads: as for ScopedPoolAccess.
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

}  // namespace heddle
