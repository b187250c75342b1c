// Which device may touch whose memory directly, and the pools that device memory comes from.
#pragma once

#include <cstddef>

#include <heddle/device.hpp>
#include <heddle/error.hpp>

namespace heddle {

/// Memory of another device is reached in two ways, which are switched apart from each other: *peer access* is to memory that was allocated by
/// cudaMalloc or its like, *pool access* to memory of heddle's arrays. Both are directional: `device` reads and writes memory of `peer`. CPU
/// devices reach each other always. Copies between devices need neither, and are faster with pool access; kernels
/// that are given another device's array need pool access.
///
/// Switching is idempotent. Throws Unsupported where the devices cannot
/// reach each other (Device::can_access_peer, can_access_pool), UsageError for devices of different kinds. Switch off only what no work in flight uses.
void enable_peer_access(Device device, Device peer, SourceLocation where = SourceLocation::current());
void disable_peer_access(Device device, Device peer, SourceLocation where = SourceLocation::current());
bool is_peer_access_enabled(Device device, Device peer);

void enable_pool_access(Device device, Device peer, SourceLocation where = SourceLocation::current());
void disable_pool_access(Device device, Device peer, SourceLocation where = SourceLocation::current());
bool is_pool_access_enabled(Device device, Device peer);

/// Has access enabled, both ways, while it lives; puts back what it found.
class ScopedPoolAccess {
public:
    [[nodiscard]] ScopedPoolAccess(Device a, Device b, SourceLocation where = SourceLocation::current());
    ~ScopedPoolAccess();
    ScopedPoolAccess(const ScopedPoolAccess&) = delete;
    ScopedPoolAccess& operator=(const ScopedPoolAccess&) = delete;

private:
    Device a_, b_;
    bool a_had_, b_had_;
};
class ScopedPeerAccess {
public:
    [[nodiscard]] ScopedPeerAccess(Device a, Device b, SourceLocation where = SourceLocation::current());
    ~ScopedPeerAccess();
    ScopedPeerAccess(const ScopedPeerAccess&) = delete;
    ScopedPeerAccess& operator=(const ScopedPeerAccess&) = delete;

private:
    Device a_, b_;
    bool a_had_, b_had_;
};

/// A device's pool, in bytes. For CPU devices, whose memory is the machine's, reserved is what is used.
struct PoolUsage {
    std::size_t used = 0;           ///< by arrays now
    std::size_t used_high = 0;      ///< at most, since the last reset
    std::size_t reserved = 0;       ///< taken from the device
    std::size_t reserved_high = 0;  ///< at most, since the last reset
};
PoolUsage pool_usage(Device device, SourceLocation where = SourceLocation::current());
/// The marks start again from what is used and reserved now.
void reset_pool_high_water(Device device, SourceLocation where = SourceLocation::current());

/// How much unused memory a pool keeps when streams or events are waited for; all of it by default, because getting it anew costs 34 µs an
/// allocation instead of 2 (H200). 0 for CPU devices, where it cannot be set (Unsupported).
std::size_t pool_release_threshold(Device device, SourceLocation where = SourceLocation::current());
void set_pool_release_threshold(Device device, std::size_t bytes,
                                SourceLocation where = SourceLocation::current());
/// Gives unused memory back to the device, but for `keep` bytes of the pool. Memory whose free has not been reached by its stream counts as used.
/// Memory of shareable and imported arrays that are gone is given back as well, and only here: if there is such memory, the call waits for
/// all that the device does.
void trim_pool(Device device, std::size_t keep = 0, SourceLocation where = SourceLocation::current());

}  // namespace heddle
