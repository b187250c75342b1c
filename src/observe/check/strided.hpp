// Overlap, containment and common bytes of two strided accesses.
#pragma once

#include <cstdint>

#include "check/check_op.hpp"

namespace heddle::detail {

enum class Overlap : std::uint8_t { none, some, unknown };

/// The most rows that are compared one by one.
inline constexpr std::uint32_t most_rows_compared = 4096;

/// Returns whether the accesses have a byte in common. The result is exact if the pitches are
/// equal, or if one access has at most most_rows_compared rows. Otherwise returns `unknown` for
/// accesses that may overlap.
Overlap overlap_of(const CheckAccess& a, const CheckAccess& b) noexcept;

/// Returns whether `outer` contains all bytes of `inner`. May return false for strided accesses
/// that differ in shape.
bool is_within(const CheckAccess& inner, const CheckAccess& outer) noexcept;

/// A contiguous range [begin, end). If `rows` is set, only these rows within the range.
struct CommonBytes {
    std::uint64_t begin = 0, end = 0;
    MemoryRange rows = no_rows;
};
/// Returns the bytes that the two accesses have in common. Requires that there are some. The result
/// has rows if the accesses have the same pitch and each row overlaps one row of the other access.
/// It also has rows if one access has a single row; then the first and last row may be common only
/// in part. Otherwise the result is the intersection of the two spans.
CommonBytes common_bytes(const CheckAccess& a, const CheckAccess& b) noexcept;

}  // namespace heddle::detail
