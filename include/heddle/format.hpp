// std::format() of heddle's objects, where the standard library has it. The texts are those of
// to_string() (heddle/print.hpp), with the width, fill and precision of strings.
#pragma once

#include <string_view>

#include <heddle/print.hpp>

#if __has_include(<format>)
#include <format>
#endif

// libc++ 17 has std::format(), but does not define the feature-test macro.
#if defined(__cpp_lib_format) || (defined(_LIBCPP_VERSION) && _LIBCPP_VERSION >= 170000)

// Formats as a string: `std::format("{:>30}", stream)`.
template <heddle::detail::Printable T>
struct std::formatter<T, char> : std::formatter<std::string_view, char> {
    template <class Context> auto format(const T& value, Context& context) const {
        return std::formatter<std::string_view, char>::format(heddle::to_string(value), context);
    }
};

// Otherwise std::format() would format arrays and views as ranges, and read their elements.
#ifdef __cpp_lib_format_ranges
template <class T>
inline constexpr std::range_format std::format_kind<heddle::Array<T>> = std::range_format::disabled;
template <class T>
inline constexpr std::range_format std::format_kind<heddle::View<T>> = std::range_format::disabled;
#endif

#endif
