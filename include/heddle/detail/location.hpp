// Source locations of calls, for errors and observers.
#pragma once

#if __cplusplus < 202002L
#error                                                                                             \
    "heddle needs C++20: link with heddle::heddle in CMake, or compile with -std=c++20 (nvcc too)"
#endif

namespace heddle {

/// A place in a source file. Public functions take one as their last, defaulted argument.
/// std::source_location is missing with clang 14. nvcc 13.0 crashes on the function's name in the
/// default member initialiser of a class, so only the two builtins below are used.
struct SourceLocation {
    const char* file = "";
    unsigned line = 0;

    static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                            unsigned line = __builtin_LINE()) noexcept {
        return {file, line};
    }
};

}  // namespace heddle
