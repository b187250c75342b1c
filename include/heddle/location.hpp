// Source locations of calls, for errors and observers.
#pragma once

#if __cplusplus < 202002L
#error                                                                                             \
    "heddle needs C++20: link with heddle::heddle in CMake, or compile with -std=c++20 (nvcc too)"
#endif

#include <type_traits>
#if !defined(__CUDACC_RTC__)
#include <source_location>
#endif

#include <heddle/detail/mistakes.hpp>

namespace heddle HEDDLE_VISIBLE {

class Device;
class StreamRef;

namespace detail {
/// A StreamRef, or a class derived from it. (std::derived_from would require a complete S.)
template <class S>
concept IsStream = std::is_convertible_v<const S*, const StreamRef*>;
}  // namespace detail

/// A place in a source file.
struct SourceLocation {
    const char* file = "";  ///< "" if unknown
    /// From 1; 0 if unknown.
    unsigned line = 0;
    /// From 1; 0 if unknown. Distinguishes calls on one line: compilers count columns differently,
    /// but they grow along the line.
    unsigned column = 0;
};

/// The call site of a public function. As a last parameter `Where where = {}`, it holds the
/// caller's line. Your own functions can have such a parameter too, and pass it on. Errors and
/// traces then show the lines of its callers.
///
///     void clear(Array<float>& x, Where where = {}) { fill(x, 0.0f, where); }
///
/// clang 14 has no std::source_location. As an aggregate, with the builtins in default member
/// initialisers, this class crashes nvcc 13.0.
struct Where : SourceLocation {
    /// Occupies the first parameter, so that the others are not passed by accident.
    struct Here {};
    /// Holds the line on which it is written: in a default argument, the line of the call.
    constexpr Where(Here = {}, const char* of_file = __builtin_FILE(),
                    unsigned at_line = __builtin_LINE(),
#if defined(__clang__)
                    unsigned at_column = __builtin_COLUMN()
#elif defined(__cpp_lib_source_location)
                    unsigned at_column = std::source_location::current().column()
#else
                    unsigned at_column = 0
#endif
                        ) noexcept
        : SourceLocation{of_file, at_line, at_column} {
    }
    /// Holds a location obtained elsewhere.
    constexpr Where(SourceLocation location) noexcept : SourceLocation(location) {}
    /// Deleted: the call has too many arguments.
    template <detail::IsStream S>
    Where(const S&, mistake::the_stream_is_the_first_argument = {}) = delete;
    template <class D>
        requires std::is_same_v<Device, D>
    Where(const D&, mistake::a_Device_is_not_accepted_here = {}) = delete;
    template <class N>
        requires std::is_integral_v<N>
    Where(N, mistake::this_number_is_one_argument_too_many = {}) = delete;
};

}  // namespace heddle
