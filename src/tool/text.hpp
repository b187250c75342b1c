#pragma once

// Formats and parses text.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::tool {

/// Parses "4096", "64K", "16M" or "1G" (also "16MiB"; powers of 1024) as bytes. Returns nullopt for
/// any other text.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// Parses "800ns", "12.5us", "10ms" or "1.5s". Returns nullopt for any other text, and for more
/// than a year.
std::optional<std::chrono::nanoseconds> parse_time(std::string_view text);

/// Formats bytes in the largest of K, M and G that divides them: "16M".
std::string exact_bytes(std::uint64_t bytes);

/// Formats bytes in powers of 1000 with three digits: "8.59 GB".
std::string rounded_bytes(double bytes);

/// Returns `text` without characters that would break a line.
std::string one_line(std::string_view text);

/// Flushes standard output. Returns whether all output was written; otherwise prints an error
/// message on standard error.
bool output_written();

}  // namespace heddle::tool
