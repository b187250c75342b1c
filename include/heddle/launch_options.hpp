// How a kernel is launched, beyond how often it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace heddle {

namespace detail {
/// Whose end a kernel need not wait for.
enum class Dependence : std::uint8_t {
    none,
    on_stream,  ///< of the kernel before it on its stream
    on_event    ///< in recordings: of the kernel of a programmatic event that the stream has waited for
};
}  // namespace detail

/// Given with the extents: `launch(s, kernel, dim(n).with({.priority = -5}), args...)`, in the same way to prepare() and to nodes, and with grid() for
/// `__global__` functions. Checked against the device before the launch (UsageError with the limit; Unsupported where the device
/// has none of it). CPU devices check nothing, and go by the priorities of nodes in graphs alone.
struct LaunchOptions {
    /// Threads of a block of a portable kernel, 1 to 256; with two and three dimensions a multiple of 32. 0: chosen by heddle.
    unsigned block = 0;
    /// Dynamic shared memory of a block in bytes, for portable kernels (grid() has it for `__global__` functions). More than 48 KB is asked for
    /// where the device allows it.
    std::size_t shared_bytes = 0;
    /// Blocks that run together on neighbouring multiprocessors (compute capability 9.0). The grid of a portable kernel is made a multiple of it. 0: none.
    unsigned cluster_x = 0, cluster_y = 1, cluster_z = 1;
    /// All blocks run at the same time, and may wait for each other; the grid has to fit on the device.
    bool cooperative = false;
    /// Of this launch, instead of the stream's; smaller is more urgent, clamped to the device's range.
    int priority = inherit_priority;
    /// Memory synchronisation domain: 0, or 1 for kernels that write to other devices, so that fences of the others do not wait for those writes (compute
    /// capability 9.0; elsewhere without effect).
    int memory_domain = 0;
    /// For launch_dependent(), which looks whether the kernel may be launched like that.
    detail::Dependence dependence = detail::Dependence::none;

    static constexpr int inherit_priority = std::numeric_limits<int>::min();
    bool operator==(const LaunchOptions&) const = default;
};

namespace detail {
/// Options that are not given cost one look.
struct GivenOptions {
    LaunchOptions options{};
    bool given = false;
};
}  // namespace detail

}  // namespace heddle
