#include "timeline/page/escape.hpp"

#include <cstddef>

#include "core/base/utf8.hpp"

namespace heddle::detail {

namespace {

constexpr std::string_view ellipsis = "\xe2\x80\xa6";

std::string_view xml_character(std::string_view character) {
    if (character == "&") return "&amp;";
    if (character == "<") return "&lt;";
    if (character == ">") return "&gt;";
    if (character == "\"") return "&quot;";
    if (character == "'") return "&#39;";
    if (character == "\t" || character == "\n" || character == "\r") return " ";
    const bool is_control = byte_at(character, 0) < 0x20 || character == "\x7f";
    const bool is_none = character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf";
    return is_control || is_none ? replacement_character : character;
}

}  // namespace

void append_xml(std::string& out, std::string_view text) {
    for_each_character(text,
                       [&out](std::string_view character) { out += xml_character(character); });
}

std::string xml_text(std::string_view text) {
    std::string xml;
    append_xml(xml, text);
    return xml;
}

std::string shortened(std::string_view text, std::size_t characters) {
    std::string out;
    std::size_t count = 0, kept = 0;
    for_each_character(text, [&](std::string_view character) {
        out += character;
        if (++count < characters) kept = out.size();
    });
    if (count <= characters) return out;
    out.resize(characters == 0 ? 0 : kept);
    return characters == 0 ? out : out += ellipsis;
}

}  // namespace heddle::detail
