// fmt::format() of heddle's objects, for programs that use the library fmt (9 or newer). The texts
// are those of to_string() (heddle/print.hpp), with the width, fill and precision of strings.
#pragma once

#include <string_view>
#include <type_traits>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <heddle/print.hpp>

// Formats as a string: `fmt::format("{:>30}", stream)`. As an element of a range, the text has no
// quotes, unlike a string.
template <heddle::detail::Printable T> struct fmt::formatter<T, char> {
    template <class Context> constexpr auto parse(Context& context) { return text_.parse(context); }
    template <class Context> auto format(const T& value, Context& context) const {
        return text_.format(heddle::to_string(value), context);
    }

private:
    fmt::formatter<std::string_view, char> text_;
};

// Otherwise fmt would format arrays and views, and classes derived from them, as ranges, and read
// their elements.
template <heddle::detail::Printable T> struct fmt::is_range<T, char> : std::false_type {};
