// The memory in which kernels on GPUs report bad indices (docs/adr/0073).
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// An index outside a view.
struct BadIndex {
    const void* data = nullptr;  ///< the view's first element
    /// For a View: the index, and the size. For a View2D: the row and column, and their numbers.
    std::size_t index[2] = {}, extent[2] = {};
    std::uint32_t dimensions = 0;  ///< 1 for a View, 2 for a View2D, 0 if there is no bad index
    /// The argument that holds the view, from 1. 0: the kernel itself holds it. -1: unknown.
    std::int32_t argument = -1;
};

struct BoundsSite;

/// The first bad index of the kernels that share this report.
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

/// Registers the report of a file's `__global__` functions: `symbol` is a `__device__` variable.
/// Returns true, so that a variable can be initialised by this call.
bool register_bounds_report(const void* symbol) noexcept;

}  // namespace detail
}  // namespace heddle
