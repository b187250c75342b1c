// Which bytes two accesses in rows have in common.
#pragma once

#include <cstdint>

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

/// Bytes [begin, end), of those the rows if there are any.
struct CommonBytes {
    std::uint64_t begin = 0, end = 0;
    MemoryRange rows = no_rows;
};
/// Returns the bytes that both accesses have in common, which must be some: rows if both have the
/// same pitch and each row meets one of the other's, or if one of them has one row (of which the
/// first and the last may be common in part); else all between the first and the last byte of both
/// spans.
CommonBytes common_bytes(const CheckAccess& a, const CheckAccess& b) noexcept;

}  // namespace heddle::detail
