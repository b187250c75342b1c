// Where a call was written, as data for errors and observers.
#pragma once

namespace heddle {

/// A place in a source file. Public functions take one as their last, defaulted argument.
/// (std::source_location is missing with clang 14; the builtins below are in every supported compiler.)
struct SourceLocation {
    const char* file = "";
    const char* function = "";
    unsigned line = 0;

    static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                            const char* function = __builtin_FUNCTION(),
                                            unsigned line = __builtin_LINE()) noexcept {
        return {file, function, line};
    }
};

}  // namespace heddle
