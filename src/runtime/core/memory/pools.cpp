// The devices' memory pools. Memory that streams cache does not count as used in their figures.
#include <algorithm>
#include <utility>

#include <heddle/device/peer_access.hpp>
#include <heddle/memory/pool.hpp>

#include "core/base/errors.hpp"
#include "core/memory/kept_memory.hpp"
#include "core/seam/backend.hpp"
#include "core/stream/freed_memory.hpp"

namespace heddle {

namespace detail {
namespace {
/// Filled before main() begins, or when a library is loaded.
constinit TrimStep* first_step = nullptr;
}  // namespace

TrimStep::TrimStep(void (*run)(Device) noexcept) noexcept
    : run_(run), next_(std::exchange(first_step, this)) {}

void TrimStep::run_all(Device device) noexcept {
    for (const TrimStep* step = first_step; step != nullptr; step = step->next_) step->run_(device);
}
}  // namespace detail

using detail::backend_of;

namespace {
/// Subtracts cached memory from the usage: the pool counts it, although no array uses it.
detail::PoolUsage usage_without(const detail::KeptTotals& kept, detail::PoolUsage usage) noexcept {
    usage.used -= std::min(usage.used, kept.bytes);
    usage.used_high =
        std::max(usage.used, usage.used_high - std::min(usage.used_high, kept.low_water));
    return usage;
}
}  // namespace

void reset_peak_memory_stats(Device device, Where where) try {
    backend_of(device.kind()).reset_pool_high_water(device.index(), where);
    detail::reset_kept_low_water(device);
} catch (...) {
    detail::rethrow_as_error("reset_peak_memory_stats", where);
}

void trim_pool(Device device, std::size_t keep, Where where) try {
    detail::TrimStep::run_all(device);
    detail::trim_kept_memory(device);
    backend_of(device.kind()).trim_pool(device.index(), keep, where);
} catch (...) {
    detail::rethrow_as_error("trim_pool", where);
}

MemoryStats memory_stats(Device device, Where where) try {
    const detail::KeptTotals kept = detail::kept_totals(device);
    const detail::PoolUsage usage =
        usage_without(kept, backend_of(device.kind()).pool_usage(device.index(), where));
    return {.in_use = usage.used,
            .peak = usage.used_high,
            .cached = kept.bytes,
            .reserved = usage.reserved,
            .reserved_peak = usage.reserved_high,
            .cache_hits = kept.hits,
            .cache_misses = kept.misses};
} catch (...) {
    detail::rethrow_as_error("memory_stats", where);
}

}  // namespace heddle
