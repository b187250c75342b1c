// Columns of numbers in few bytes, for a page that carries its data as text.
//
// A number is a varint: seven bits a byte, the lowest first, the top bit set in all bytes but the
// last. Signed numbers alternate: 0, -1, 1, -2, ... A column is written in one of four codes, the
// shortest: its values or their differences, each alone or with a count of repetitions. Readers are
// in page/columns.js and, for tests, here.
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
    differences,      ///< from the value before; the first one from 0
    value_runs,       ///< pairs: a value, and how often it comes less one
    difference_runs,  ///< the same for differences: counting up is one run
};

/// Where a column lies among the bytes of several, and how to read it.
struct ColumnEntry {
    ColumnCode code = ColumnCode::values;
    std::size_t count = 0;  ///< of values
    std::size_t bytes = 0;
    std::int64_t least = 0, most = 0;  ///< 0 if there are no values
};

/// Appends the column. Differences wrap around, so that any values can be written.
ColumnEntry append_column(std::string& bytes, std::span<const std::int64_t> values);

/// Returns the column that `bytes` begins with. Throws UsageError if it does not hold one.
std::vector<std::int64_t> read_column(std::string_view bytes, const ColumnEntry& entry);

/// Returns the bytes in base64, with padding.
std::string base64(std::string_view bytes);

}  // namespace heddle::detail
