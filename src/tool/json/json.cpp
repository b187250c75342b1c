#include "json/json.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>

namespace heddle::json {
namespace {

/// Returns the length of a UTF-8 sequence that begins with this byte. Returns 0 if no sequence
/// begins with this byte.
std::size_t utf8_length_by_lead(unsigned lead) {
    return lead < 0x80   ? 1
           : lead < 0xc2 ? 0
           : lead < 0xe0 ? 2
           : lead < 0xf0 ? 3
           : lead < 0xf5 ? 4
                         : 0;
}

/// Returns the length of the UTF-8 sequence at the beginning of `text`. Returns 0 if no valid
/// sequence begins there.
std::size_t utf8_length(std::string_view text) {
    const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = at(0);
    const std::size_t length = utf8_length_by_lead(lead);
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((at(i) & 0xc0) != 0x80) return 0;
    const bool overlong = (lead == 0xe0 && at(1) < 0xa0) || (lead == 0xf0 && at(1) < 0x90);
    const bool no_character = (lead == 0xed && at(1) >= 0xa0) || (lead == 0xf4 && at(1) >= 0x90);
    return overlong || no_character ? 0 : length;
}

/// Returns \uXXYY for the bytes 0xXX and 0xYY.
std::string escape(unsigned high, unsigned low) {
    constexpr std::string_view digits = "0123456789abcdef";
    return {'\\', 'u', digits[high / 16], digits[high % 16], digits[low / 16], digits[low % 16]};
}

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
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const auto byte = static_cast<unsigned char>(text.front());
        if (length == 0) out += escape(0xdc, byte);
        else if (byte == '"' || byte == '\\') out += {'\\', text.front()};
        else if (byte < 0x20 || byte == 0x7f) out += escape(0, byte);
        else out += text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out + '"';
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
