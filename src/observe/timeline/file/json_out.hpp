// Writes large JSON texts fast. The caller writes the commas.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "core/base/utf8.hpp"

namespace heddle::detail {

/// Returns a JSON string, including quotes. Bytes that are not UTF-8 become U+FFFD.
inline std::string in_json(std::string_view text) {
    std::string quoted;
    append_json(quoted, text);
    return quoted;
}

/// A buffered output for JSON. Functions that write return the object itself, so calls can be
/// chained.
class JsonOut {
public:
    explicit JsonOut(std::ostream& to) : to_(to) { buffer_.reserve(2 * flush_at); }
    /// Writes JSON text unchanged.
    JsonOut& raw(std::string_view json) {
        buffer_ += json;
        if (buffer_.size() >= flush_at) flush();
        return *this;
    }
    JsonOut& number(std::integral auto value) {
        char digits[24];
        const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
        return raw({digits, static_cast<std::size_t>(end - digits)});
    }
    /// Writes nanoseconds as microseconds, with exactly three decimals and without rounding.
    JsonOut& micros(std::uint64_t ns) {
        const auto rest = static_cast<unsigned>(ns % 1000);
        const auto digit = [](unsigned value) { return static_cast<char>('0' + value % 10); };
        const char decimals[] = {'.', digit(rest / 100), digit(rest / 10), digit(rest)};
        return number(ns / 1000).raw({decimals, sizeof decimals});
    }
    void flush() {
        to_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
        buffer_.clear();
    }

private:
    static constexpr std::size_t flush_at = 1 << 16;
    std::ostream& to_;
    std::string buffer_;
};

}  // namespace heddle::detail
