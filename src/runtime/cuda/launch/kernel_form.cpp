#include "cuda/launch/kernel_form.hpp"

#include <algorithm>
#include <span>

#include <heddle/code/module.hpp>

#include "core/base/errors.hpp"

namespace heddle::detail::cu {

namespace {

struct Shape {
    dim3 grid, block;
};

/// Throws UsageError if no device can launch a portable kernel of `dimensions` dimensions with
/// these options.
void check_portable_options(const LaunchOptions& options, std::size_t dimensions,
                            const SourceLocation& where) {
    if (options.block > portable_block)
        usage_error({"launch", where},
                    "a block of {} threads is too large: use at most {} for a portable kernel",
                    options.block, portable_block);
    if (dimensions > 1 && options.block % 32 != 0)
        usage_error({"launch", where},
                    "a block of {} threads is not supported with two or three dimensions: use a "
                    "multiple of 32",
                    options.block);
    if (options.cluster_x != 0 && (options.cluster_y == 0 || options.cluster_z == 0))
        usage_error(
            {"launch", where},
            "the cluster has 0 blocks in a dimension: set cluster_y and cluster_z to at least 1");
}

Shape shape_of(std::span<const std::size_t> extent, unsigned processors,
               const LaunchOptions& options, const SourceLocation& where) {
    constexpr std::size_t max_y = 65535;
    const auto blocks = [](std::size_t n, std::size_t block) { return (n + block - 1) / block; };
    if ((options.block | options.cluster_x) != 0) [[unlikely]]
        check_portable_options(options, extent.size(), where);
    Shape s;
    if (extent.size() == 1) {
        s.block = dim3(options.block != 0 ? options.block : threads_for(extent[0], processors));
    } else if (options.block != 0) {
        s.block = dim3(32, options.block / 32);
    } else {
        s.block = extent.size() == 2 ? dim3(32, 8) : dim3(32, 4, 2);
    }
    // The kernel strides over extents that exceed the limits of a grid.
    const auto along = [&](std::size_t axis, unsigned block) {
        if (extent.size() <= axis) return 1u;
        return static_cast<unsigned>(std::min(blocks(extent[axis], block), max_y));
    };
    s.grid = dim3(static_cast<unsigned>(blocks(extent[0], s.block.x)), along(1, s.block.y),
                  along(2, s.block.z));
    if (options.cluster_x != 0) [[unlikely]] {  // the kernel ignores blocks beyond the extents
        const auto whole = [](unsigned n, unsigned c) { return (n + c - 1) / c * c; };
        s.grid = dim3(whole(s.grid.x, options.cluster_x), whole(s.grid.y, options.cluster_y),
                      whole(s.grid.z, options.cluster_z));
    }
    if (blocks(extent[0], s.block.x) > most_blocks) [[unlikely]]
        throw_too_many_indices(where);
    return s;
}

KernelForm form_of_portable(const WorkType& type, void** addresses, unsigned processors,
                            const LaunchOptions& options, const BoundsSite* const& site,
                            const SourceLocation& where) {
    std::size_t extent[3] = {1, 1, 1};
    for (std::size_t i = 0; i < type.dimensions; ++i)
        extent[i] = *static_cast<const std::size_t*>(addresses[1 + i]);
    const Shape shape = shape_of({extent, type.dimensions}, processors, options, where);
    if (type.has_bounds) *--addresses = const_cast<const BoundsSite**>(&site);
    return {type.code().function, false, shape.grid, shape.block, options.shared_bytes, addresses};
}

}  // namespace

KernelForm form_of(const WorkType& type, void* closure, void** addresses, unsigned processors,
                   const LaunchOptions& options, const BoundsSite* const& site,
                   const SourceLocation& where) {
    type.addresses(closure, addresses);
    if (type.kernel == KernelKind::portable)
        return form_of_portable(type, addresses, processors, options, site, where);
    const auto& head = *static_cast<const GridHead*>(addresses[0]);
    const bool is_module = type.kernel == KernelKind::in_module;
    const void* const function =
        is_module ? static_cast<const ModuleKernelData*>(head.kernel)->native : head.kernel;
    return {function,          is_module,    dim3_of(head.grid), dim3_of(head.block),
            head.shared_bytes, addresses + 1};
}

}  // namespace heddle::detail::cu
