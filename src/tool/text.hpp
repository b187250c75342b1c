#pragma once

// Formats and parses text.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::tool {

/// Parses a number of bytes, for example "4096", "64K", "16M", "1G" or "16MiB". Suffixes are powers
/// of 1024. Returns nullopt for any other text.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// Parses a time, for example "800ns", "12.5us", "10ms" or "1.5s". Returns nullopt for any other
/// text, and for times of over a year.
std::optional<std::chrono::nanoseconds> parse_time(std::string_view text);

/// Formats bytes in the largest of the units K, M and G that divides them, for example "16M".
std::string exact_bytes(std::uint64_t bytes);

/// Formats bytes in powers of 1000 with three digits, for example "8.59 GB".
std::string rounded_bytes(double bytes);

/// Returns `text` on one line: without characters that break a line.
std::string one_line(std::string_view text);

/// Flushes standard output. Returns whether all output was written. If not, prints an error message
/// to standard error.
bool output_written();

}  // namespace heddle::tool
