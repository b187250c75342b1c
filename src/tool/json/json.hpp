// Writes JSON.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::json {

/// Returns a JSON string, including quotes. Bytes that are not UTF-8, as in some paths, become
/// \udc80 to \udcff. Python's "surrogateescape" does the same.
std::string string(std::string_view text);

/// Returns the shortest text that reads back as `value`, or "null" if JSON has no such number.
std::string number(double value);
/// Returns `value` with this many digits after the point, or "null" if JSON has no such number.
std::string number(double value, int decimals);
std::string number(std::integral auto value) { return std::to_string(value); }

inline std::string boolean(bool value) { return value ? "true" : "false"; }

/// Returns "[a, b]". The items must be JSON.
std::string array(const std::vector<std::string>& items);
/// Same as array(), but puts each item on its own line.
std::string array_of_lines(const std::vector<std::string>& items);

/// Returns {"name": value, ...} in this order. The values must be JSON.
std::string object(const std::vector<std::pair<std::string_view, std::string>>& members);

}  // namespace heddle::json
