// Launch options: how a kernel is launched, apart from its extents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
/// The earlier kernel that a dependent kernel may overlap.
enum class Dependence : std::uint8_t {
    none,
    on_stream,  ///< the previous kernel on its stream
    /// In recordings: the kernel that recorded the programmatic event for which the stream waited.
    on_event
};
}  // namespace detail

/// Options of one kernel launch. Attach them to dim() or grid() in launch(), prepare() and nodes:
///
///     launch(s, kernel, dim(n).with({.priority = -5}), args...);
///
/// A launch checks them against the device. It throws UsageError if a value exceeds the device's
/// limit, and Unsupported if the device lacks the feature. CPU devices check nothing, and use only
/// the priorities of graph nodes.
struct LaunchOptions {
    /// Threads per block of a portable kernel, 1 to 256; in two and three dimensions a multiple of
    /// 32. If 0, heddle chooses.
    unsigned block = 0;
    /// Dynamic shared memory per block of a portable kernel, in bytes (for `__global__` functions:
    /// see grid()). heddle opts in to more than 48 KB, up to the device's limit.
    std::size_t shared_bytes = 0;
    /// Blocks of a cluster, which run together on neighbouring multiprocessors (compute capability
    /// 9.0); at most 8. The grid of a portable kernel is rounded up to a multiple. If 0, there are
    /// no clusters.
    unsigned cluster_x = 0;
    unsigned cluster_y = 1;  ///< blocks of a cluster along the second axis
    unsigned cluster_z = 1;  ///< blocks of a cluster along the third axis
    /// Makes all blocks run at the same time, so that they may wait for each other. The launch
    /// throws UsageError if the grid does not fit on the device.
    bool cooperative = false;
    /// Priority of this launch instead of the stream's. Smaller is more urgent; clamped to the
    /// device's range.
    int priority = inherit_priority;
    /// Memory synchronisation domain: 0, or 1 for kernels that write to other devices. Fences in
    /// kernels of domain 0 then do not wait for those writes. Has no effect below compute
    /// capability 9.0.
    int memory_domain = 0;
    /// Set by launch_dependent(), which checks that the kernel allows it.
    detail::Dependence dependence = detail::Dependence::none;

    /// Selects the priority of the launch's stream or node.
    static constexpr int inherit_priority = std::numeric_limits<int>::min();
    bool operator==(const LaunchOptions&) const = default;
};

namespace detail {
/// Launch options with a flag. A launch without options tests only the flag.
struct PassedOptions {
    LaunchOptions options{};
    bool is_set = false;
};
}  // namespace detail

}  // namespace heddle
