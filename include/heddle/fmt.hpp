// fmt::format() of heddle's objects, for programs that use the library fmt (9 or newer). The texts
// are those of to_string() (heddle/print.hpp), with the width, fill and precision of strings.
#pragma once

#include <string_view>
#include <type_traits>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <heddle/print.hpp>

// Formats as a string: `fmt::format("{:>30}", stream)`.
template <heddle::detail::Printable T>
struct fmt::formatter<T, char> : fmt::formatter<std::string_view, char> {
    template <class Context> auto format(const T& value, Context& context) const {
        return fmt::formatter<std::string_view, char>::format(heddle::to_string(value), context);
    }
};

// Else fmt would format arrays and views as ranges, by reading their elements.
template <class T> struct fmt::is_range<heddle::Array<T>, char> : std::false_type {};
template <class T> struct fmt::is_range<heddle::View<T>, char> : std::false_type {};
