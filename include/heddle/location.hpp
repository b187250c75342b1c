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

namespace heddle {

class Device;
class StreamRef;

namespace detail {
/// A StreamRef, or a class derived from it. (std::derived_from would need S to be complete.)
template <class S>
concept IsStream = std::is_convertible_v<const S*, const StreamRef*>;
}  // namespace detail

/// A place in a source file.
struct SourceLocation {
    const char* file = "";  ///< "" if it is not known
    /// From 1; 0 if it is not known.
    unsigned line = 0;
    /// From 1; 0 if it is not known. Tells calls on one line apart: which column of a call it is,
    /// compilers differ about, but it grows along the line.
    unsigned column = 0;
};

/// The place of a call. It is the last parameter of public functions, `Where where = {}`, and then
/// stands for the line of the caller. A function of yours that takes one too, and passes it on, has
/// its callers' lines in errors and traces.
///
/// std::source_location is missing with clang 14. As an aggregate, with the builtins in default
/// member initialisers, this crashes nvcc 13.0.
struct Where : SourceLocation {
    /// Takes the first place among the parameters, so that nobody passes the others by accident.
    struct Here {};
    /// Holds the line on which it is written: as a default argument, that of the call.
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
    /// Holds a place that is known from elsewhere.
    constexpr Where(SourceLocation location) noexcept : SourceLocation(location) {}
    /// Deleted: something was given behind the last argument.
    template <detail::IsStream S>
    Where(const S&, mistake::the_stream_is_the_first_argument = {}) = delete;
    template <class D>
        requires std::is_same_v<Device, D>
    Where(const D&, mistake::no_Device_is_wanted_here = {}) = delete;
    template <class N>
        requires std::is_integral_v<N>
    Where(N, mistake::this_number_is_an_argument_too_many = {}) = delete;
};

}  // namespace heddle
