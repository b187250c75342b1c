// The memory in which kernels on GPUs report bad indices (docs/adr/0073).
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::detail {

/// An index outside a view.
struct BadIndex {
    const void* data = nullptr;  ///< the view's first element
    /// The index and the size of a View. The row and column, and their numbers, of a View2D.
    std::size_t index[2] = {}, extent[2] = {};
    std::uint32_t dimensions = 0;  ///< 1 for a View, 2 for a View2D, 0 if there is no bad index
    /// The argument that holds the view, from 1. 0: the kernel itself holds it. -1: unknown.
    std::int32_t argument = -1;
};

struct BoundsSite;

/// The first bad index of some kernels.
struct BoundsReport {
    unsigned is_claimed = 0;  ///< set by the thread that writes the rest
    unsigned is_written = 0;  ///< set last
    const BoundsSite* site = nullptr;
    BadIndex bad;
};

/// Identifies a launch to its kernel. In pinned memory.
struct BoundsSite {
    BoundsReport* report;
};

/// Registers the report of a file's `__global__` functions, a `__device__` variable. Returns true,
/// so that it can initialise a variable.
bool register_bounds_report(const void* symbol) noexcept;

}  // namespace heddle::detail
