// Reads JSON strictly by RFC 8259. For tests of code that writes JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace heddle_test {

/// Thrown if the text is not JSON. The message contains the place and the reason.
struct BadJson : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A JSON value of any type.
struct Json {
    enum class Type { null, boolean, number, string, array, object };
    Type type = Type::null;
    /// For a string: the decoded text, in UTF-8. For a number or boolean: the text as written.
    std::string text = {};
    std::vector<Json> items = {};         ///< elements of an array, or an object's values
    std::vector<std::string> names = {};  ///< names of an object's members

    /// Returns whether the object has the member `name`.
    bool has(std::string_view name) const;
    /// Returns a member of the object. Throws BadJson if the object has no such member.
    const Json& operator[](std::string_view name) const;
    /// Returns a whole number. Throws BadJson if the value is not one.
    std::int64_t whole() const;
};

/// Reads a single JSON value. Throws BadJson for any other text. The names in an object must
/// differ, and strings must be UTF-8.
Json read_json(std::string_view text);

}  // namespace heddle_test
