// Overlap, containment and common bytes of two strided accesses.
#pragma once

#include <cstdint>

#include "check/check_op.hpp"

namespace heddle::detail {

enum class Overlap : std::uint8_t { none, some, unknown };

/// The most rows that are compared one by one.
inline constexpr std::uint32_t most_rows_compared = 4096;

/// Returns whether the accesses have a byte in common. The result is exact if the pitches are
/// equal, or if one access has only one row or few rows. Otherwise returns `unknown` if they may
/// overlap.
Overlap overlap_of(const CheckAccess& a, const CheckAccess& b) noexcept;

/// Returns whether `outer` contains all bytes of `inner`. May return false for strided accesses
/// that differ in shape.
bool is_within(const CheckAccess& inner, const CheckAccess& outer) noexcept;

/// Bytes [begin, end), or only the rows in them if there are rows.
struct CommonBytes {
    std::uint64_t begin = 0, end = 0;
    MemoryRange rows = no_rows;
};
/// Returns the common bytes of both accesses. Requires that there are some. Returns rows if both
/// have the same pitch and each row overlaps one row of the other. Also returns rows if one access
/// has one row; the first and the last may then be common in part. Otherwise returns the
/// intersection of the two spans.
CommonBytes common_bytes(const CheckAccess& a, const CheckAccess& b) noexcept;

}  // namespace heddle::detail
