// Reads JSON as strictly as RFC 8259 defines it, for tests of JSON writers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace heddle_test {

/// Thrown if the text is not JSON. The message has the place and the reason.
struct BadJson : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A value of any type.
struct Json {
    enum class Type { null, boolean, number, string, array, object };
    Type type = Type::null;
    /// For strings the decoded text, in UTF-8. For numbers and booleans the text as written.
    std::string text = {};
    std::vector<Json> items = {};         ///< of an array; of an object, its members' values
    std::vector<std::string> names = {};  ///< of an object's members

    /// Returns whether the object has the member `name`.
    bool has(std::string_view name) const;
    /// Returns the object's member. Throws BadJson if the object has no such member.
    const Json& operator[](std::string_view name) const;
    /// Returns a whole number. Throws BadJson for other values.
    std::int64_t whole() const;
};

/// Reads a single value. Throws BadJson for anything else. Names within an object must differ, and
/// strings must be UTF-8.
Json read_json(std::string_view text);

}  // namespace heddle_test
