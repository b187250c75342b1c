#include "timeline/file/trace_columns.hpp"

namespace heddle::detail {

namespace {

// Marks a run of zeros: a zero in two bytes, which put_varint() never writes. The length of the run
// follows.
constexpr std::string_view run_mark("\x80\0", 2);
constexpr std::uint64_t shortest_run = 4;

}  // namespace

void put_varint(std::string& to, std::uint64_t value) {
    char bytes[10];
    std::size_t count = 0;
    for (; value >= 0x80; value >>= 7) bytes[count++] = static_cast<char>(value | 0x80);
    bytes[count++] = static_cast<char>(value);
    to.append(bytes, count);
}

std::uint64_t take_varint(std::string_view& from) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(from.front());
        const std::uint64_t bits = byte & 0x7f;
        from.remove_prefix(1);
        value |= bits << shift;
        if (value >> shift != bits) break;  // more than 64 bits
        if (byte < 0x80) return value;
    }
    throw BadTrace("a number is incomplete");
}

void ColumnWriter::put_zeros() {
    if (zeros_ < shortest_run) {
        bytes_.append(zeros_, '\0');
    } else {
        bytes_ += run_mark;
        put_varint(bytes_, zeros_);
    }
    zeros_ = 0;
}

std::uint64_t ColumnReader::take_long() {
    if (!rest_.starts_with(run_mark)) return take_varint(rest_);
    rest_.remove_prefix(run_mark.size());
    zeros_ = take_varint(rest_);
    if (zeros_ == 0) throw BadTrace("a run is empty");
    return --zeros_, 0;
}

std::string TableWriter::bytes() const {
    std::string all;
    put_varint(all, rows_);
    for (const ColumnWriter& column : columns_) {
        put_varint(all, column.bytes().size());
        all += column.bytes();
    }
    return all;
}

TableReader::TableReader(std::string_view bytes, std::size_t full_column) {
    const std::uint64_t rows = take_varint(bytes);
    while (!bytes.empty()) {
        const std::uint64_t size = take_varint(bytes);
        if (size > bytes.size()) throw BadTrace("a column is longer than its section");
        columns_.emplace_back(bytes.substr(0, size));
        bytes.remove_prefix(size);
    }
    if (rows > (full_column < columns_.size() ? columns_[full_column].bytes_left() : 0))
        throw BadTrace("a table has fewer rows than its header states");
    rows_ = rows;
}

void TableReader::finish() const {
    for (std::size_t i = 0; i < column_; ++i)
        if (i < columns_.size() && columns_[i].bytes_left() != 0)
            throw BadTrace("a table has more rows than its header states");
}

std::uint64_t RowValues::hash() const noexcept {
    std::uint64_t sum = count_;
    for (const std::uint64_t value : values_) {
        sum = (sum ^ value) * 0x9e3779b97f4a7c15;
        sum ^= sum >> 32;
    }
    return sum;
}

}  // namespace heddle::detail
