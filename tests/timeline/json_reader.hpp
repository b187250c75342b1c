// Reads JSON as strictly as RFC 8259 defines it, for tests of what writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace heddle_test {

/// The text is no JSON. Says where and why.
struct BadJson : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A value of any type.
struct Json {
    enum class Type { null, boolean, number, string, array, object };
    Type type = Type::null;
    /// Strings: what they stand for, in UTF-8. Numbers and booleans: as they are written.
    std::string text = {};
    std::vector<Json> items = {};         ///< of an array; of an object, its members' values
    std::vector<std::string> names = {};  ///< of an object's members

    /// Returns whether the object has that member.
    bool has(std::string_view name) const;
    /// Returns the object's member. Throws BadJson if there is none.
    const Json& operator[](std::string_view name) const;
    /// Returns a whole number. Throws BadJson for others.
    std::int64_t whole() const;
};

/// Throws BadJson unless `text` is one value. Names within an object must differ, and strings be
/// UTF-8.
Json read_json(std::string_view text);

}  // namespace heddle_test
