// Access to other devices' memory, and the limit of memory that pools cache.
#include <heddle/device/peer_access.hpp>
#include <heddle/memory/pool.hpp>

#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "core/seam/backend.hpp"

namespace heddle {

using detail::AccessKind;
using detail::backend_of;

namespace {

bool is_itself(Device device, Device peer) {
    return device == peer || (device.is_cpu() && peer.is_cpu());
}

void set_access(AccessKind kind, Device device, Device peer, bool on, const char* call,
                const SourceLocation& where) {
    if (device.kind() != peer.kind())
        detail::usage_error({call, where, device},
                            "{} and {} are of different kinds, and cannot access each other's "
                            "memory: use pinned() memory, which both can access",
                            device, peer);
    if (is_itself(device, peer)) return;
    const bool can =
        kind == AccessKind::peer ? device.can_access_peer(peer) : device.can_access_pool(peer);
    if (on && !can)
        detail::unsupported_error(
            {call, where, device},
            "{} cannot access the memory of {}: use copy(), which copies through the host", device,
            peer);
    backend_of(device.kind()).set_access(kind, device.index(), peer.index(), on, where);
}

bool has_access(AccessKind kind, Device device, Device peer) {
    if (device.kind() != peer.kind()) return false;
    return is_itself(device, peer) ||
           backend_of(device.kind()).has_access(kind, device.index(), peer.index());
}

/// Enables access in both directions. If enabling the second one fails, restores the first one.
void enable_both(AccessKind kind, Device a, Device b, bool a_had, const char* call,
                 const SourceLocation& where) {
    set_access(kind, a, b, true, call, where);
    try {
        set_access(kind, b, a, true, call, where);
    } catch (...) {
        if (!a_had) set_access(kind, a, b, false, call, where);
        throw;
    }
}

void put_back(AccessKind kind, Device device, Device peer, bool had, const char* call) noexcept {
    if (had) return;
    try {
        set_access(kind, device, peer, false, call, {});
    } catch (...) {
        detail::report(std::current_exception());
    }
}

}  // namespace

void enable_peer_access(Device device, Device peer, Where where) try {
    set_access(AccessKind::peer, device, peer, true, "enable_peer_access", where);
} catch (...) {
    detail::rethrow_as_error("enable_peer_access", where);
}
void disable_peer_access(Device device, Device peer, Where where) try {
    set_access(AccessKind::peer, device, peer, false, "disable_peer_access", where);
} catch (...) {
    detail::rethrow_as_error("disable_peer_access", where);
}
bool is_peer_access_enabled(Device device, Device peer) try {
    return has_access(AccessKind::peer, device, peer);
} catch (...) {
    detail::rethrow_as_error("is_peer_access_enabled", {});
}

void enable_pool_access(Device device, Device peer, Where where) try {
    set_access(AccessKind::pool, device, peer, true, "enable_pool_access", where);
} catch (...) {
    detail::rethrow_as_error("enable_pool_access", where);
}
void disable_pool_access(Device device, Device peer, Where where) try {
    set_access(AccessKind::pool, device, peer, false, "disable_pool_access", where);
} catch (...) {
    detail::rethrow_as_error("disable_pool_access", where);
}
bool is_pool_access_enabled(Device device, Device peer) try {
    return has_access(AccessKind::pool, device, peer);
} catch (...) {
    detail::rethrow_as_error("is_pool_access_enabled", {});
}

ScopedPoolAccess::ScopedPoolAccess(Device a, Device b, Where where) try
    : a_(a), b_(b), a_had_(is_pool_access_enabled(a, b)), b_had_(is_pool_access_enabled(b, a)) {
    enable_both(AccessKind::pool, a, b, a_had_, "ScopedPoolAccess", where);
} catch (...) {
    detail::rethrow_as_error("ScopedPoolAccess", where);
}
ScopedPoolAccess::~ScopedPoolAccess() {
    put_back(AccessKind::pool, b_, a_, b_had_, "ScopedPoolAccess");
    put_back(AccessKind::pool, a_, b_, a_had_, "ScopedPoolAccess");
}

ScopedPeerAccess::ScopedPeerAccess(Device a, Device b, Where where) try
    : a_(a), b_(b), a_had_(is_peer_access_enabled(a, b)), b_had_(is_peer_access_enabled(b, a)) {
    enable_both(AccessKind::peer, a, b, a_had_, "ScopedPeerAccess", where);
} catch (...) {
    detail::rethrow_as_error("ScopedPeerAccess", where);
}
ScopedPeerAccess::~ScopedPeerAccess() {
    put_back(AccessKind::peer, b_, a_, b_had_, "ScopedPeerAccess");
    put_back(AccessKind::peer, a_, b_, a_had_, "ScopedPeerAccess");
}

std::size_t pool_release_threshold(Device device, Where where) try {
    return backend_of(device.kind()).pool_release_threshold(device.index(), where);
} catch (...) {
    detail::rethrow_as_error("pool_release_threshold", where);
}
void set_pool_release_threshold(Device device, std::size_t bytes, Where where) try {
    backend_of(device.kind()).set_pool_release_threshold(device.index(), bytes, where);
} catch (...) {
    detail::rethrow_as_error("set_pool_release_threshold", where);
}

}  // namespace heddle
