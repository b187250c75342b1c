#include "text.hpp"

#include <charconv>
#include <cstddef>
#include <cstdio>

#include <fmt/format.h>

namespace heddle::tool {
namespace {

constexpr std::string_view units = "KMG";

/// Returns the length of the UTF-8 sequence that `text` begins with, or 0 if it begins with none.
std::size_t utf8_length(std::string_view text) {
    const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = at(0);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xc2 ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((at(i) & 0xc0) != 0x80) return 0;
    const bool overlong = (lead == 0xe0 && at(1) < 0xa0) || (lead == 0xf0 && at(1) < 0x90);
    const bool no_character = (lead == 0xed && at(1) >= 0xa0) || (lead == 0xf4 && at(1) >= 0x90);
    return overlong || no_character ? 0 : length;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{}) return std::nullopt;
    std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
    if (suffix.empty()) return value;
    const std::size_t unit = units.find(static_cast<char>(suffix.front() & ~0x20));  // either case
    if (unit == std::string_view::npos) return std::nullopt;
    suffix.remove_prefix(1);
    if (!suffix.empty() && suffix != "iB") return std::nullopt;
    const unsigned shift = 10 * (static_cast<unsigned>(unit) + 1);
    if (value > (UINT64_MAX >> shift)) return std::nullopt;
    return value << shift;
}

std::string exact_bytes(std::uint64_t bytes) {
    std::string unit;
    for (std::size_t i = 0; i < units.size() && bytes != 0 && bytes % 1024 == 0; ++i) {
        bytes /= 1024;
        unit = units[i];
    }
    return fmt::format("{}{}", bytes, unit);
}

std::string rounded_bytes(double bytes) {
    static constexpr std::string_view names[] = {"bytes", "kB", "MB", "GB", "TB"};
    std::size_t i = 0;
    while (bytes >= 999.5 && i + 1 < std::size(names)) {
        bytes /= 1000;
        ++i;
    }
    if (i == 0) return fmt::format("{:.0f} {}", bytes, names[i]);
    return fmt::format("{:.{}f} {}", bytes, bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0, names[i]);
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const auto byte = static_cast<unsigned char>(text.front());
        if (length == 0) out += fmt::format("\\udc{:02x}", byte);
        else if (byte == '"' || byte == '\\') out += {'\\', text.front()};
        else if (byte < 0x20 || byte == 0x7f) out += fmt::format("\\u{:04x}", byte);
        else out += text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out + '"';
}

std::string one_line(std::string_view text) {
    std::string line;
    for (const char c : text) line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    return line;
}

bool output_written() {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
    fmt::print(stderr, "heddle: standard output could not be written\n");
    return false;
}

}  // namespace heddle::tool
