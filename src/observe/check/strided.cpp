#include "check/strided.hpp"

#include <algorithm>

namespace heddle::detail {

namespace {

/// Returns whether a byte of [begin, end) is in one of the rows. Rows do not overlap each other.
bool meets_rows(const CheckAccess& rows, std::uint64_t begin, std::uint64_t end) noexcept {
    if (begin >= rows.end() || end <= rows.address()) return false;
    if (!rows.is_strided()) return true;
    // The last row that begins before `end`.
    const std::uint64_t last =
        std::min<std::uint64_t>((end - 1 - rows.address()) / rows.pitch, rows.rows - 1);
    return rows.address() + last * rows.pitch + rows.bytes > begin;
}

/// Returns whether two accesses with the same pitch overlap. Some k is the same for all rows: row i
/// of `a` can only overlap rows i + k and i + k + 1 of `b`.
bool meet_at_equal_pitch(const CheckAccess& a, const CheckAccess& b) noexcept {
    const auto pitch = static_cast<std::int64_t>(a.pitch);
    const auto shift = static_cast<std::int64_t>(a.address() - b.address());
    std::int64_t k = shift / pitch;  // rounded down
    if (shift % pitch < 0) --k;
    const std::int64_t into = shift - k * pitch;  // offset of a's row in b's row k
    const auto has_pair = [&](std::int64_t by) {
        return by < static_cast<std::int64_t>(b.rows) && -by < static_cast<std::int64_t>(a.rows);
    };
    if (into < static_cast<std::int64_t>(b.bytes) && has_pair(k)) return true;
    return into + static_cast<std::int64_t>(a.bytes) > pitch && has_pair(k + 1);
}

bool any_row_meets(const CheckAccess& few, const CheckAccess& other) noexcept {
    for (std::size_t row = 0; row < few.rows; ++row) {
        const std::uint64_t begin = few.address() + row * few.pitch;
        if (meets_rows(other, begin, begin + few.bytes)) return true;
    }
    return false;
}

Overlap known(bool meets) noexcept { return meets ? Overlap::some : Overlap::none; }

}  // namespace

Overlap overlap_of(const CheckAccess& a, const CheckAccess& b) noexcept {
    if (!a.overlaps(b)) return Overlap::none;
    if (!a.is_strided()) return known(meets_rows(b, a.address(), a.end()));
    if (!b.is_strided()) return known(meets_rows(a, b.address(), b.end()));
    if (a.pitch == b.pitch && a.bytes <= a.pitch && b.bytes <= b.pitch)
        return known(meet_at_equal_pitch(a, b));
    const CheckAccess& few = a.rows <= b.rows ? a : b;
    if (few.rows > most_rows_compared) return Overlap::unknown;
    return known(any_row_meets(few, &few == &a ? b : a));
}

bool is_within(const CheckAccess& inner, const CheckAccess& outer) noexcept {
    if (!outer.is_strided())
        return outer.address() <= inner.address() && inner.end() <= outer.end();
    return inner.address() == outer.address() && inner.bytes <= outer.bytes &&
           inner.pitch == outer.pitch && inner.rows <= outer.rows;
}

namespace {

/// Returns the common bytes of the rows and of the contiguous bytes [begin, end).
CommonBytes common_with_span(const CheckAccess& rows, std::uint64_t begin, std::uint64_t end) {
    // The first row that ends after `begin`, and the last one that begins before `end`.
    const std::uint64_t first = begin < rows.address() + rows.bytes
                                    ? 0
                                    : (begin - rows.address() - rows.bytes) / rows.pitch + 1;
    const std::uint64_t last =
        std::min<std::uint64_t>((end - 1 - rows.address()) / rows.pitch, rows.rows - 1);
    CommonBytes common{rows.address() + first * rows.pitch,
                       rows.address() + last * rows.pitch + rows.bytes};
    if (first == last) return {std::max(common.begin, begin), std::min(common.end, end)};
    common.rows = {nullptr, rows.bytes, last - first + 1, rows.pitch};
    return common;
}

/// Returns the common bytes of two accesses with the same pitch, if row i of `a` overlaps only row
/// i + k of `b`. Returns an empty range if a row overlaps two rows.
CommonBytes common_at_equal_pitch(const CheckAccess& a, const CheckAccess& b) {
    const auto pitch = static_cast<std::int64_t>(a.pitch);
    const auto shift = static_cast<std::int64_t>(a.address() - b.address());
    std::int64_t k = shift / pitch;  // rounded down
    if (shift % pitch < 0) --k;
    const std::int64_t into = shift - k * pitch;  // offset of a's row in b's row k
    const auto a_bytes = static_cast<std::int64_t>(a.bytes);
    const auto b_bytes = static_cast<std::int64_t>(b.bytes);
    const bool meets_k = into<b_bytes, meets_next = into + a_bytes> pitch;
    if (meets_k == meets_next) return {};
    // Byte offsets of the common bytes from the beginning of a's row.
    const std::int64_t from = meets_k ? 0 : pitch - into;
    const std::int64_t till = std::min(a_bytes, (meets_k ? 0 : pitch) - into + b_bytes);
    if (meets_next) ++k;
    const std::int64_t first = std::max<std::int64_t>(0, -k);
    const std::int64_t last =
        std::min(static_cast<std::int64_t>(a.rows), static_cast<std::int64_t>(b.rows) - k) - 1;
    const auto at = [&](std::int64_t row, std::int64_t byte) {
        return a.address() + static_cast<std::uint64_t>(row * pitch + byte);
    };
    CommonBytes common{at(first, from), at(last, till)};
    if (first != last)
        common.rows = {nullptr, static_cast<std::size_t>(till - from),
                       static_cast<std::size_t>(last - first + 1), a.pitch};
    return common;
}

}  // namespace

CommonBytes common_bytes(const CheckAccess& a, const CheckAccess& b) noexcept {
    CommonBytes common;
    if (!a.is_strided() && b.is_strided()) common = common_with_span(b, a.address(), a.end());
    else if (a.is_strided() && !b.is_strided()) common = common_with_span(a, b.address(), b.end());
    else if (a.is_strided() && a.pitch == b.pitch && a.bytes <= a.pitch && b.bytes <= b.pitch)
        common = common_at_equal_pitch(a, b);
    if (common.begin < common.end) return common;
    return {std::max(a.address(), b.address()), std::min(a.end(), b.end())};
}

}  // namespace heddle::detail
