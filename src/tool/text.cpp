#include "text.hpp"

#include <charconv>
#include <cstddef>
#include <cstdio>

#include <fmt/format.h>

namespace heddle::tool {
namespace {

constexpr std::string_view units = "KMG";

struct TimeUnit {
    std::string_view name;
    std::int64_t ns;
};
constexpr TimeUnit time_units[] = {
    {"ns", 1}, {"us", 1'000}, {"\u00b5s", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};

/// Removes the digits at the front, and returns their value. Returns nullopt if there are no digits
/// or too many.
std::optional<std::int64_t> take_digits(std::string_view& text) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || text.front() == '-') return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return value;
}

}  // namespace

std::optional<std::chrono::nanoseconds> parse_time(std::string_view text) {
    constexpr std::int64_t year = 31'556'952;  // seconds
    const std::optional<std::int64_t> whole = take_digits(text);
    if (!whole) return std::nullopt;
    std::string_view decimals;
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        decimals = text;
        if (!take_digits(text)) return std::nullopt;
        decimals.remove_suffix(text.size());
    }
    for (const TimeUnit& unit : time_units) {
        if (text != unit.name) continue;
        if (*whole > year * (1'000'000'000 / unit.ns)) return std::nullopt;
        std::int64_t ns = *whole * unit.ns, step = unit.ns;
        for (const char digit : decimals) ns += (digit - '0') * (step /= 10);
        return std::chrono::nanoseconds(ns);
    }
    return std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{}) return std::nullopt;
    std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
    if (suffix.empty()) return value;
    // Accepts upper and lower case.
    const std::size_t unit = units.find(static_cast<char>(suffix.front() & ~0x20));
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
