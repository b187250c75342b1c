// Which bytes two accesses in rows have in common.
#pragma once

#include <cstdint>
#include <utility>

#include "check/check_op.hpp"

namespace heddle::detail {

enum class Overlap : std::uint8_t { none, some, unknown };

/// Compares row by row up to this many rows.
inline constexpr std::uint32_t most_rows_compared = 4096;

/// Returns whether the accesses have a byte in common. Exact if both have the same pitch, or one of
/// them has one row, or one of them has few rows; else `unknown` if they may.
Overlap overlap_of(const CheckAccess& a, const CheckAccess& b) noexcept;

/// Returns whether `outer` contains all of the bytes of `inner`, as far as it is easily told.
bool is_within(const CheckAccess& inner, const CheckAccess& outer) noexcept;

/// Returns the bytes between the first and the last one that both spans have: [begin, end).
std::pair<std::uint64_t, std::uint64_t> common_span(const CheckAccess& a,
                                                    const CheckAccess& b) noexcept;

}  // namespace heddle::detail
