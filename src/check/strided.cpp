#include "check/strided.hpp"

#include <algorithm>

namespace heddle::detail {

namespace {

bool spans_meet(const CheckAccess& a, const CheckAccess& b) noexcept {
    return a.data < b.end() && b.data < a.end();
}

/// Returns whether a byte of [begin, end) is in one of the rows. Rows do not overlap each other.
bool meets_rows(const CheckAccess& rows, std::uint64_t begin, std::uint64_t end) noexcept {
    if (begin >= rows.end() || end <= rows.data) return false;
    if (!rows.is_strided()) return true;
    // The last row that begins before `end`.
    const std::uint64_t last =
        std::min<std::uint64_t>((end - 1 - rows.data) / rows.pitch, rows.rows - 1);
    return rows.data + last * rows.pitch + rows.bytes > begin;
}

/// For two accesses of one pitch: row i of `a` meets row i + k of `b` for the same k everywhere.
bool meet_at_equal_pitch(const CheckAccess& a, const CheckAccess& b) noexcept {
    const auto pitch = static_cast<std::int64_t>(a.pitch);
    const auto shift = static_cast<std::int64_t>(a.data - b.data);
    std::int64_t k = shift / pitch;  // rounded down
    if (shift % pitch < 0) --k;
    const std::int64_t into = shift - k * pitch;  // how far a's row begins behind b's row k
    const auto has_pair = [&](std::int64_t by) {
        return by < static_cast<std::int64_t>(b.rows) && -by < static_cast<std::int64_t>(a.rows);
    };
    if (into < static_cast<std::int64_t>(b.bytes) && has_pair(k)) return true;
    return into + static_cast<std::int64_t>(a.bytes) > pitch && has_pair(k + 1);
}

bool any_row_meets(const CheckAccess& few, const CheckAccess& other) noexcept {
    for (std::uint32_t row = 0; row < few.rows; ++row) {
        const std::uint64_t begin = few.data + row * few.pitch;
        if (meets_rows(other, begin, begin + few.bytes)) return true;
    }
    return false;
}

Overlap known(bool meets) noexcept { return meets ? Overlap::some : Overlap::none; }

}  // namespace

Overlap overlap_of(const CheckAccess& a, const CheckAccess& b) noexcept {
    if (!spans_meet(a, b)) return Overlap::none;
    if (!a.is_strided()) return known(meets_rows(b, a.data, a.end()));
    if (!b.is_strided()) return known(meets_rows(a, b.data, b.end()));
    if (a.pitch == b.pitch && a.bytes <= a.pitch && b.bytes <= b.pitch)
        return known(meet_at_equal_pitch(a, b));
    const CheckAccess& few = a.rows <= b.rows ? a : b;
    if (few.rows > most_rows_compared) return Overlap::unknown;
    return known(any_row_meets(few, &few == &a ? b : a));
}

bool is_within(const CheckAccess& inner, const CheckAccess& outer) noexcept {
    if (!outer.is_strided()) return outer.data <= inner.data && inner.end() <= outer.end();
    return inner.data == outer.data && inner.bytes <= outer.bytes && inner.pitch == outer.pitch &&
           inner.rows <= outer.rows;
}

std::pair<std::uint64_t, std::uint64_t> common_span(const CheckAccess& a,
                                                    const CheckAccess& b) noexcept {
    return {std::max(a.data, b.data), std::min(a.end(), b.end())};
}

}  // namespace heddle::detail
