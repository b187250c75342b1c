// Columns of numbers in few bytes, for a page that carries its data as text.
//
// A number is a varint: seven bits a byte, the lowest first, the top bit set in all bytes but the
// last. Signed numbers alternate: 0, -1, 1, -2, ... A column is written in the shortest of four
// codes: its values or their differences, each alone or with a count of repetitions. It is read by
// page/web/columns.js and, for tests, here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::detail {

enum class ColumnCode : std::uint8_t {
    values,
    differences,      ///< from the previous value; the first one from 0
    value_runs,       ///< pairs: a value, and the number of its repetitions
    difference_runs,  ///< the same for differences: counting up is one run
};

/// The place of a column among the bytes of several, and its code.
struct ColumnEntry {
    ColumnCode code = ColumnCode::values;
    std::size_t count = 0;  ///< number of values
    std::size_t bytes = 0;
    std::int64_t least = 0, most = 0;  ///< 0 if there are no values
};

/// Appends the column. Differences wrap around, so that any values can be written.
ColumnEntry append_column(std::string& bytes, std::span<const std::int64_t> values);

/// Returns the column at the begin of `bytes`. Throws UsageError if the bytes are not such a
/// column.
std::vector<std::int64_t> read_column(std::string_view bytes, const ColumnEntry& entry);

/// Returns the bytes in base64, with padding.
std::string base64(std::string_view bytes);

}  // namespace heddle::detail
