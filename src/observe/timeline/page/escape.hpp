// Converts names from programs to XML. Such names may contain any bytes.
#pragma once

#include <string>
#include <string_view>

namespace heddle::detail {

/// Appends the text as XML or HTML, for an element or a quoted attribute. Invalid characters become
/// U+FFFD. Examples are control characters and bytes that are not UTF-8.
void append_xml(std::string& out, std::string_view text);
/// Returns the text that append_xml() appends.
std::string xml_text(std::string_view text);

/// Returns the text if it has at most this many characters. Otherwise cuts it and ends it with an
/// ellipsis.
std::string shortened(std::string_view text, std::size_t characters);

}  // namespace heddle::detail
