#pragma once

// Texts for people and for programs.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::tool {

/// "4096", "64K", "16M" or "1G" (also "16MiB"; powers of 1024) as bytes; nothing for any other text.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// In the largest of K, M and G that divides it: "16M".
std::string exact_bytes(std::uint64_t bytes);

/// In powers of 1000, three digits: "8.59 GB".
std::string rounded_bytes(double bytes);

/// A JSON string, quotes included. Bytes that are not UTF-8 (paths need not be) become \udc80 to \udcff, as
/// in Python's "surrogateescape".
std::string json_string(std::string_view text);

/// `text` without what would break a line.
std::string one_line(std::string_view text);

/// Writes out what was printed. False if some of it was lost, which then was told on standard error.
bool output_written();

}  // namespace heddle::tool
