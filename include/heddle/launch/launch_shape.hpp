// The shape of a launch: a number of indices, or a grid of blocks.
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>

#include <heddle/detail/mistakes.hpp>
#include <heddle/launch/launch_options.hpp>
#include <heddle/location.hpp>

namespace heddle HEDDLE_VISIBLE {

/// The base of all shapes. Made by dim() and grid(). A plain value: const members are thread-safe.
///
///     launch(stream, Scale{}, dim(1000).with({.block = 128}), 2.0f, x);
///
/// Errors: dim() throws UsageError for a negative extent. The launch checks the rest.
template <class Self> struct LaunchShape {
    /// The call site of dim() or grid(), for errors of the launch.
    SourceLocation where;
    /// Internal: the options passed to with().
    detail::PassedOptions how{};

    /// Returns this shape with launch options added. For a grid, LaunchOptions::block and
    /// shared_bytes are ignored.
    constexpr Self with(const LaunchOptions& options) const noexcept {
        Self other = static_cast<const Self&>(*this);
        other.how = {options, true};
        return other;
    }
};

/// The number of indices of a launch in N dimensions: how many times a kernel runs. Made by dim(),
/// as in `launch(Fill{}, dim(columns, rows), image)`.
template <int N> struct Dim : LaunchShape<Dim<N>> {
    /// Number of indices in each dimension; the first varies fastest.
    std::size_t extent[N];
};

/// The extents of a grid in blocks, or of a block in threads. Extents left out are 1.
struct Extents {
    unsigned x = 1;  ///< along the first axis
    unsigned y = 1;  ///< along the second axis
    unsigned z = 1;  ///< along the third axis
    /// Converts from numbers, so that `256` and `{16, 16}` can be passed.
    constexpr Extents(unsigned nx, unsigned ny = 1, unsigned nz = 1) noexcept
        : x(nx), y(ny), z(nz) {}
    /// Converts from a dim3 of CUDA.
    template <class D>
        requires requires(const D& d) {
            { d.x } -> std::same_as<const unsigned&>;
            { d.y } -> std::same_as<const unsigned&>;
            { d.z } -> std::same_as<const unsigned&>;
        }
    constexpr Extents(const D& d) noexcept : x(d.x), y(d.y), z(d.z) {}
    bool operator==(const Extents&) const = default;
};

/// Grid, block and dynamic shared memory of a launch of a `__global__` function or a module's
/// kernel. Made by grid(), as in `launch(stream, scale, grid(8, 256), x, n)`.
struct LaunchGrid : LaunchShape<LaunchGrid> {
    /// Size of the grid, in blocks.
    Extents grid;
    /// Size of a block, in threads.
    Extents block;
    /// Dynamic shared memory of a block, in bytes.
    std::size_t shared_bytes;
};

namespace detail {
template <class S>
concept IsLaunchShape = std::derived_from<S, LaunchShape<S>>;

/// The maximum number of indices. A negative number converted to std::size_t exceeds it.
inline constexpr auto max_indices =
    static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());

[[noreturn]] void throw_negative_extent(std::size_t extent, const SourceLocation& where);
[[noreturn]] void throw_too_many_indices(const SourceLocation& where);

/// Returns the product of the extents. Throws UsageError if it exceeds max_indices.
std::size_t count_of(const std::size_t* extent, std::size_t dimensions,
                     const SourceLocation& where);
template <int N> std::size_t count_of(const Dim<N>& d) {
    if constexpr (N > 1) return count_of(d.extent, N, d.where);
    if (d.extent[0] > max_indices) [[unlikely]]
        throw_too_many_indices(d.where);
    return d.extent[0];
}

/// An mdspan, or a class with the extents of one.
template <class M>
concept HasExtents = requires(const M& m) {
    { M::rank() } -> std::convertible_to<std::size_t>;
    m.extents().extent(0u);
};

constexpr void check_extent(std::size_t extent, const SourceLocation& where) {
    if (extent > max_indices) [[unlikely]]
        throw_negative_extent(extent, where);
}
}  // namespace detail

/// Makes a shape of one, two or three dimensions. All three overloads throw UsageError for a
/// negative extent (in constant expressions it is a compile error).
constexpr Dim<1> dim(std::size_t nx, Where where = {}) {
    detail::check_extent(nx, where);
    return {{where, {}}, {nx}};
}
/// The first index varies fastest: adjacent threads on a GPU, the inner loop on a CPU.
constexpr Dim<2> dim(std::size_t nx, std::size_t ny, Where where = {}) {
    detail::check_extent(nx, where);
    detail::check_extent(ny, where);
    return {{where, {}}, {nx, ny}};
}
constexpr Dim<3> dim(std::size_t nx, std::size_t ny, std::size_t nz, Where where = {}) {
    detail::check_extent(nx, where);
    detail::check_extent(ny, where);
    detail::check_extent(nz, where);
    return {{where, {}}, {nx, ny, nz}};
}

/// Makes the shape of an mdspan with up to three dimensions, or of spanning(). The last index of
/// the mdspan becomes the kernel's first one, which varies fastest: kernel(x, y, m) uses m(y, x).
/// For no dimensions, makes dim(1).
template <detail::HasExtents M>
    requires(M::rank() <= 3)
constexpr auto dim(const M& m, Where where = {}) {
    constexpr auto n = M::rank();
    const auto extent = [&](std::size_t i) {
        return static_cast<std::size_t>(m.extents().extent(static_cast<unsigned>(n - 1 - i)));
    };
    if constexpr (n == 0) return dim(1, where);
    else if constexpr (n == 1) return dim(extent(0), where);
    else if constexpr (n == 2) return dim(extent(0), extent(1), where);
    else return dim(extent(0), extent(1), extent(2), where);
}
/// Deleted: write dim(m.size()), and compute the indices in the kernel.
template <detail::HasExtents M>
    requires(M::rank() > 3)
Dim<1> dim(const M&, mistake::above_3_dimensions_it_is_dim_of_m_size = {}) = delete;

/// Deleted: write dim(x.size()).
template <class A>
    requires(!detail::HasExtents<A> && requires(const A& array) { array.size(); })
Dim<1> dim(const A&, mistake::the_number_of_indices_is_dim_of_x_size = {}) = delete;

/// Makes a grid of `grid` blocks with `block` threads each, and `shared_bytes` bytes of dynamic
/// shared memory per block: `grid(n / 256, 256)`, `grid({4, 4}, {16, 16})`.
constexpr LaunchGrid grid(Extents grid, Extents block, std::size_t shared_bytes = 0,
                          Where where = {}) noexcept {
    return {{where, {}}, grid, block, shared_bytes};
}

}  // namespace heddle
