// Writes columns of numbers in few bytes, for a page that contains its data as text.
//
// Each number is a varint: seven bits in each byte, lowest bits first. All bytes but the last have
// their top bit set. Signed numbers use zigzag coding: 0, -1, 1, -2 become 0, 1, 2, 3. A column has
// either its values or their differences, each with or without a count of repetitions: the shortest
// of these four codes. page/web/columns.js reads columns. The reader in this file is for tests.
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
    differences,      ///< each from the previous value, the first from 0
    value_runs,       ///< pairs of a value and its number of repetitions
    difference_runs,  ///< pairs of a difference and its number of repetitions
};

/// Locates one column among the bytes of several, and names its code.
struct ColumnEntry {
    ColumnCode code = ColumnCode::values;
    std::size_t count = 0;  ///< number of values
    std::size_t bytes = 0;
    std::int64_t least = 0, most = 0;  ///< both 0 if there are no values
};

/// Appends the column. Any values can be written, because differences wrap around.
ColumnEntry append_column(std::string& bytes, std::span<const std::int64_t> values);

/// Reads the column at the beginning of `bytes`. Throws UsageError if there is no such column.
std::vector<std::int64_t> read_column(std::string_view bytes, const ColumnEntry& entry);

/// Returns the bytes in base64, with padding.
std::string base64(std::string_view bytes);

}  // namespace heddle::detail
