// Reads text that may contain bytes that are not UTF-8, such as names and paths. Writes it as JSON.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace heddle::detail {

/// UTF-8 lead bytes for one length. `least_second` and `most_second` limit the byte after the lead
/// byte.
struct Utf8Form {
    unsigned first, last;
    std::size_t length;
    unsigned least_second, most_second;
};
inline constexpr Utf8Form utf8_forms[] = {
    {0x00, 0x7f, 1, 0, 0},
    {0xc2, 0xdf, 2, 0x80, 0xbf},
    {0xe0, 0xe0, 3, 0xa0, 0xbf},
    // The second range excludes surrogates.
    {0xe1, 0xec, 3, 0x80, 0xbf},
    {0xed, 0xed, 3, 0x80, 0x9f},
    {0xee, 0xef, 3, 0x80, 0xbf},
    {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf},
    {0xf4, 0xf4, 4, 0x80, 0x8f},
};

inline unsigned byte_at(std::string_view text, std::size_t i) {
    return static_cast<unsigned char>(text[i]);
}

/// Returns the length of the character at the beginning of `text`. Returns 0 if the character is
/// invalid.
inline std::size_t character_length(std::string_view text) {
    const unsigned lead = byte_at(text, 0);
    const auto* form = std::ranges::find_if(
        utf8_forms, [lead](const Utf8Form& f) { return lead >= f.first && lead <= f.last; });
    if (form == std::end(utf8_forms) || text.size() < form->length) return 0;
    if (form->length == 1) return 1;
    if (byte_at(text, 1) < form->least_second || byte_at(text, 1) > form->most_second) return 0;
    for (std::size_t i = 2; i < form->length; ++i)
        if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
    return form->length;
}

inline constexpr std::string_view replacement_character = "\xef\xbf\xbd";  // U+FFFD

/// Calls `f` with each valid character, and with U+FFFD for each byte that belongs to no valid one.
template <class F> void for_each_character(std::string_view text, const F& f) {
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        f(length == 0 ? replacement_character : text.substr(0, length));
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
}

/// Appends a JSON string, including quotes, that is safe inside a <script> of an HTML page. Bytes
/// that are not UTF-8 become U+FFFD.
inline void append_json(std::string& out, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += '"';
    for_each_character(text, [&out, digits](std::string_view character) {
        const unsigned byte = byte_at(character, 0);
        if (byte == '"' || byte == '\\') (out += '\\') += character;
        else if (byte < 0x20 || byte == '<' || byte == 0x7f)
            ((out += "\\u00") += digits[byte / 16]) += digits[byte % 16];
        else out += character;
    });
    out += '"';
}

}  // namespace heddle::detail
