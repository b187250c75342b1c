#include "timeline/page/columns.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/base/errors.hpp"

namespace heddle::detail {

namespace {

constexpr bool has_differences(ColumnCode code) {
    return code == ColumnCode::differences || code == ColumnCode::difference_runs;
}
constexpr bool has_runs(ColumnCode code) {
    return code == ColumnCode::value_runs || code == ColumnCode::difference_runs;
}

/// Converts 0, -1, 1, -2 to 0, 1, 2, 3 (zigzag coding).
std::uint64_t alternating(std::uint64_t value) {
    return (value << 1) ^ (value >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
std::uint64_t not_alternating(std::uint64_t number) {
    return (number >> 1) ^ ((number & 1) != 0 ? ~std::uint64_t{0} : 0);
}

std::size_t varint_length(std::uint64_t number) {
    return (static_cast<std::size_t>(std::bit_width(number | 1)) + 6) / 7;
}

void append_varint(std::string& bytes, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes += static_cast<char>((number & 0x7f) | 0x80);
    bytes += static_cast<char>(number);
}

/// Calls `f` with each number and the number of times it occurs in a row.
template <class F> void for_each_run(std::span<const std::int64_t> values, bool differences, F f) {
    std::uint64_t before = 0, number = 0, times = 0;
    for (const std::int64_t value : values) {
        const auto bits = static_cast<std::uint64_t>(value);
        const std::uint64_t next = alternating(differences ? bits - before : bits);
        before = bits;
        if (times != 0 && next != number) {
            f(number, times);
            times = 0;
        }
        number = next;
        ++times;
    }
    if (times != 0) f(number, times);
}

/// Returns the column's size in each code, in bytes.
std::array<std::size_t, 4> lengths(std::span<const std::int64_t> values) {
    std::array<std::size_t, 4> all{};
    for (const bool differences : {false, true})
        for_each_run(values, differences, [&](std::uint64_t number, std::uint64_t times) {
            const std::size_t length = varint_length(number);
            all[differences ? 1 : 0] += length * times;
            all[differences ? 3 : 2] += length + varint_length(times - 1);
        });
    return all;
}

[[noreturn]] void throw_cut_off() {
    usage_error({"read_column", {}}, "a column is incomplete, or contains an invalid number");
}

/// Reads varints from the front of the bytes.
class VarintReader {
public:
    explicit VarintReader(std::string_view bytes) : bytes_(bytes) {}
    std::uint64_t next() {
        std::uint64_t number = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (at_ == bytes_.size()) throw_cut_off();
            const auto byte = static_cast<unsigned char>(bytes_[at_++]);
            number |= static_cast<std::uint64_t>(byte & 0x7fu) << shift;
            if (byte < 0x80) return number;
        }
        throw_cut_off();
    }

private:
    std::string_view bytes_;
    std::size_t at_ = 0;
};

}  // namespace

ColumnEntry append_column(std::string& bytes, std::span<const std::int64_t> values) {
    const std::array<std::size_t, 4> all = lengths(values);
    const auto* const shortest = std::ranges::min_element(all);
    ColumnEntry entry{.code = static_cast<ColumnCode>(shortest - all.begin()),
                      .count = values.size(),
                      .bytes = *shortest};
    if (!values.empty()) {
        const auto [least, most] = std::ranges::minmax_element(values);
        entry.least = *least;
        entry.most = *most;
    }
    bytes.reserve(bytes.size() + entry.bytes);
    for_each_run(values, has_differences(entry.code), [&](auto number, std::uint64_t times) {
        if (!has_runs(entry.code)) {
            while (times-- != 0) append_varint(bytes, number);
            return;
        }
        append_varint(bytes, number);
        append_varint(bytes, times - 1);
    });
    return entry;
}

std::vector<std::int64_t> read_column(std::string_view bytes, const ColumnEntry& entry) {
    std::vector<std::int64_t> values;
    VarintReader reader(bytes);
    std::uint64_t before = 0;
    while (values.size() < entry.count) {
        const std::uint64_t number = not_alternating(reader.next());
        const std::uint64_t more = has_runs(entry.code) ? reader.next() : 0;
        if (more >= entry.count - values.size()) throw_cut_off();
        for (std::uint64_t i = 0; i <= more; ++i) {
            before = has_differences(entry.code) ? before + number : number;
            values.push_back(static_cast<std::int64_t>(before));
        }
    }
    return values;
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text((bytes.size() + 2) / 3 * 4, '=');
    for (std::size_t i = 0, out = 0; i < bytes.size(); i += 3, out += 4) {
        const auto byte = [&](std::size_t at) {
            return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0u;
        };
        const unsigned group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
        const std::size_t used = std::min<std::size_t>(bytes.size() - i, 3) + 1;
        for (std::size_t digit = 0; digit < used; ++digit)
            text[out + digit] = digits[group >> (18 - 6 * digit) & 63];
    }
    return text;
}

}  // namespace heddle::detail
