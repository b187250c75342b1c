// Tables of numbers. A table has the number of its rows and then its columns, each preceded by its
// length in bytes. A column has a varint for each row, often the difference from a prediction. A
// run of zeros is stored as a count, so rows that repeat the previous one take almost no space.
//
// A later minor version may append columns. Readers ignore unknown columns, and read zeros for
// missing ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// The contents of a trace file are invalid. The text is the reason.
struct BadTrace : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Returns the zigzag coding of a difference: a small number for a small difference of either sign.
constexpr std::uint64_t zigzag(std::uint64_t difference) noexcept {
    return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t undo_zigzag(std::uint64_t code) noexcept {
    return (code >> 1) ^ (0 - (code & 1));
}

/// Returns 0 for `none`, else zigzag(value - predicted), plus 1 if below the code of `none`.
constexpr std::uint64_t code_unless(std::uint64_t value, std::uint64_t none,
                                    std::uint64_t predicted) noexcept {
    const std::uint64_t code = zigzag(value - predicted), of_none = zigzag(none - predicted);
    return code == of_none ? 0 : code < of_none ? code + 1 : code;
}
constexpr std::uint64_t undo_code_unless(std::uint64_t code, std::uint64_t none,
                                         std::uint64_t predicted) noexcept {
    if (code == 0) return none;
    const std::uint64_t of_none = zigzag(none - predicted);
    return predicted + undo_zigzag(code <= of_none ? code - 1 : code);
}

/// Appends a varint: seven bits in each byte, lowest first. Only the last byte is below 0x80.
void put_varint(std::string& to, std::uint64_t value);
/// Removes a varint from the front. Throws BadTrace if there is none.
std::uint64_t take_varint(std::string_view& from);

/// Converts a number, an enumerator or an address to 64 bits.
template <class T> constexpr std::uint64_t to_bits(T value) noexcept {
    if constexpr (std::is_enum_v<T>) return to_bits(static_cast<std::underlying_type_t<T>>(value));
    else if constexpr (std::is_pointer_v<T>) return reinterpret_cast<std::uintptr_t>(value);
    else return static_cast<std::uint64_t>(value);
}
/// Converts the result of to_bits() back to a T. Throws BadTrace if these bits represent no T.
template <class T> constexpr T from_bits(std::uint64_t bits) {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<T>(bits);
    } else {
        const T value = static_cast<T>(bits);
        if (to_bits(value) != bits) throw BadTrace("a number is too large");
        return value;
    }
}

/// Writes a column. Leaves out zeros at the end of the column.
class ColumnWriter {
public:
    void put(std::uint64_t value) {
        if (value == 0) {
            ++zeros_;
            return;
        }
        if (zeros_ != 0) put_zeros();
        put_one(value);
    }
    /// Appends the value. Uses at least one byte, even for 0.
    void put_one(std::uint64_t value) {
        if (value < 0x80) bytes_.push_back(static_cast<char>(value));
        else put_varint(bytes_, value);
    }
    const std::string& bytes() const noexcept { return bytes_; }

private:
    void put_zeros();
    std::string bytes_;
    std::uint64_t zeros_ = 0;  ///< number of zeros since the last value that was not 0
};

/// Reads a column. After the column's last byte, returns zeros.
class ColumnReader {
public:
    explicit ColumnReader(std::string_view bytes) noexcept : rest_(bytes) {}
    /// Returns the next value. Throws BadTrace if the column is invalid.
    std::uint64_t take() {
        if (zeros_ != 0) return --zeros_, 0;
        if (rest_.empty()) return 0;
        const auto first = static_cast<unsigned char>(rest_.front());
        if (first >= 0x80) return take_long();
        rest_.remove_prefix(1);
        return first;
    }
    std::size_t bytes_left() const noexcept { return rest_.size(); }

private:
    std::uint64_t take_long();
    std::string_view rest_;
    std::uint64_t zeros_ = 0;  ///< number of zeros left in the current run
};

/// Writes a table. In one column, by default the first, each row has at least one byte. So a reader
/// of a damaged file never allocates more rows than the table has bytes.
class TableWriter {
public:
    explicit TableWriter(std::size_t full_column = 0) noexcept : full_(full_column) {}
    /// Begins a row. The caller then writes the row's values, column by column.
    void begin_row() noexcept {
        ++rows_;
        column_ = 0;
    }
    /// Writes an integer of any width, a bool or an enumerator.
    template <class T> void number(const T& value) { put(to_bits(value)); }
    /// Writes an index. no_index takes no space.
    void index(const TraceIndex& value) { put(static_cast<TraceIndex>(value + 1)); }
    /// Writes a value that is usually near `predicted`.
    template <class T> void near(const T& value, std::uint64_t predicted) {
        put(zigzag(to_bits(value) - predicted));
    }
    /// Writes a value that is usually near `predicted`. `none` takes no space.
    template <class T>
    void near_unless(const T& value, std::type_identity_t<T> none, std::uint64_t predicted) {
        put(code_unless(to_bits(value), to_bits(none), predicted));
    }
    std::string bytes() const;

private:
    void put(std::uint64_t value) {
        if (column_ == columns_.size()) columns_.emplace_back();
        ColumnWriter& column = columns_[column_];
        if (column_++ == full_) column.put_one(value);
        else column.put(value);
    }
    std::vector<ColumnWriter> columns_;
    std::size_t column_ = 0, full_;
    std::uint64_t rows_ = 0;
};

/// Reads a table. Has the same functions as TableWriter, so that one function can name the columns
/// for both. All functions throw BadTrace.
class TableReader {
public:
    /// Throws BadTrace if column `full_column` has fewer bytes than the table has rows.
    explicit TableReader(std::string_view bytes, std::size_t full_column = 0);
    std::size_t rows() const noexcept { return rows_; }
    void begin_row() noexcept { column_ = 0; }
    template <class T> void number(T& value) { value = from_bits<T>(take()); }
    void index(TraceIndex& value) {
        const auto number = from_bits<TraceIndex>(take());
        value = number - 1;
    }
    template <class T> void near(T& value, std::uint64_t predicted) {
        value = from_bits<T>(predicted + undo_zigzag(take()));
    }
    template <class T>
    void near_unless(T& value, std::type_identity_t<T> none, std::uint64_t predicted) {
        value = from_bits<T>(undo_code_unless(take(), to_bits(none), predicted));
    }
    /// Call it after the last row. Throws BadTrace if the columns contain further rows.
    void finish() const;

private:
    std::uint64_t take() {
        const std::size_t column = column_++;
        return column < columns_.size() ? columns_[column].take() : 0;
    }
    std::vector<ColumnReader> columns_;
    std::size_t column_ = 0, rows_ = 0;
};

/// The values of a row, as named by `name_columns(columns, row)`, to hash and compare rows.
class RowValues {
public:
    template <class T> void number(const T& value) { values_[count_++] = to_bits(value); }
    void index(const TraceIndex& value) { number(value); }
    template <class T> void near(const T& value, std::uint64_t) { number(value); }
    std::uint64_t hash() const noexcept;
    bool operator==(const RowValues&) const = default;

private:
    static constexpr std::size_t most = 16;
    std::uint64_t values_[most] = {};
    std::size_t count_ = 0;
};

}  // namespace heddle::detail
