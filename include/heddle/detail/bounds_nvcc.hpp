// Reports of bad indices in kernels on GPUs. For files that nvcc compiles with HEDDLE_BOUNDS=1.
#pragma once

#include <heddle/detail/bounds_report.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

inline namespace HEDDLE_COMPILED_BY {

/// The report for kernels without a site: `__global__` functions. One for each source file.
static __device__ BoundsReport report_of_file;
[[maybe_unused]] static const bool is_report_known = register_bounds_report(&report_of_file);

/// The site of a block's kernel. In kernels without a site, the words are uninitialised.
struct BoundsSlot {
    const BoundsSite* site;
    unsigned long long check;
};
__device__ inline BoundsSlot& bounds_slot() noexcept {
    __shared__ BoundsSlot slot;
    return slot;
}
/// Returns the check word for a site. The word depends on the launch and the block, so a stale word
/// of another kernel does not match.
__device__ inline unsigned long long bounds_check_word(const BoundsSite* site) noexcept {
    unsigned long long grid = 0;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(grid));
    const unsigned long long block =
        blockIdx.x + 0x10000ull * 0x10000ull * (blockIdx.y + 0x10000ull * blockIdx.z);
    return (reinterpret_cast<unsigned long long>(site) + 0x9e3779b97f4a7c15ull) ^
           (grid * 0xff51afd7ed558ccdull) ^ (block * 0xc4ceb9fe1a85ec53ull);
}

/// Begins the checks of a kernel. All threads store the same values, so no barrier is needed: each
/// thread sees at least its own store.
__device__ inline void begin_checks(const BoundsSite* site) noexcept {
    BoundsSlot& slot = bounds_slot();
    slot.site = site;
    slot.check = bounds_check_word(site);
}

/// Reports a bad index, unless the report has one already.
__device__ inline void report_bad_index(const BadIndex& bad) noexcept {
    const BoundsSlot slot = bounds_slot();
    const BoundsSite* const site = slot.check == bounds_check_word(slot.site) ? slot.site : nullptr;
    BoundsReport* const to = site != nullptr ? site->report : &report_of_file;
    if (*static_cast<volatile unsigned*>(&to->is_claimed) != 0) return;
    if (atomicCAS(&to->is_claimed, 0u, 1u) != 0) return;
    to->site = site;
    to->bad = bad;
    __threadfence_system();
    *static_cast<volatile unsigned*>(&to->is_written) = 1;
}

}  // namespace HEDDLE_COMPILED_BY
}  // namespace detail
}  // namespace heddle
