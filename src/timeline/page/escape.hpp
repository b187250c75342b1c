// Converts text of programs to XML and JSON. Names may contain any bytes.
#pragma once

#include <string>
#include <string_view>

namespace heddle::detail {

/// Appends the text for XML and HTML, in an element or in a quoted attribute. Invalid characters,
/// such as control characters and bytes that are not UTF-8, become U+FFFD.
void append_xml(std::string& out, std::string_view text);
/// Returns the text that append_xml() appends.
std::string xml_text(std::string_view text);

/// Appends a JSON string, including quotes, that is safe inside a <script> of an HTML page. Bytes
/// that are not UTF-8 become U+FFFD.
void append_json(std::string& out, std::string_view text);

/// Returns at most `characters` characters; a longer text ends in an ellipsis.
std::string shortened(std::string_view text, std::size_t characters);

}  // namespace heddle::detail
