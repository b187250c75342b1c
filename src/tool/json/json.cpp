#include "json/json.hpp"

#include <charconv>
#include <cmath>
#include <iterator>

#include "core/base/utf8.hpp"

namespace heddle::json {
namespace {

/// Returns the number as text, or "null" if JSON has no such number. `format` has the further
/// arguments of std::to_chars.
template <class... Format> std::string formatted(double value, Format... format) {
    if (!std::isfinite(value)) return "null";
    char buffer[512];  // long enough, because the largest number has 309 digits before the point
    const auto [end, error] = std::to_chars(buffer, std::end(buffer), value, format...);
    return error == std::errc{} ? std::string(buffer, end) : "null";
}

std::string joined(const std::vector<std::string>& items, std::string_view separator) {
    std::string all;
    for (const std::string& item : items) {
        if (&item != &items.front()) all += separator;
        all += item;
    }
    return all;
}

}  // namespace

std::string string(std::string_view text) {
    std::string out;
    detail::append_json(out, text);
    return out;
}

std::string path(std::string_view text) {
    std::string out;
    detail::append_json(out, text, detail::BadBytes::escaped);
    return out;
}

std::string number(double value) { return formatted(value); }

std::string number(double value, int decimals) {
    return formatted(value, std::chars_format::fixed, decimals);
}

std::string array(const std::vector<std::string>& items) { return '[' + joined(items, ", ") + ']'; }

std::string array_of_lines(const std::vector<std::string>& items) {
    return items.empty() ? "[]" : "[\n  " + joined(items, ",\n  ") + "\n]";
}

std::string object(const std::vector<std::pair<std::string_view, std::string>>& members) {
    std::vector<std::string> items;
    for (const auto& [name, value] : members) items.push_back(string(name) + ": " + value);
    return '{' + joined(items, ", ") + '}';
}

}  // namespace heddle::json
