// Formatted text. Only format.cpp includes fmt, which costs a compiler six seconds in each file.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace heddle::detail {

/// A value to be formatted; strings are not copied.
using FormatArgument = std::variant<std::int64_t, std::uint64_t, double, std::string_view>;

inline FormatArgument format_argument(std::string_view text) noexcept { return text; }
inline FormatArgument format_argument(std::floating_point auto number) noexcept {
    return static_cast<double>(number);
}
inline FormatArgument format_argument(std::signed_integral auto number) noexcept {
    return static_cast<std::int64_t>(number);
}
inline FormatArgument format_argument(std::unsigned_integral auto number) noexcept {
    return static_cast<std::uint64_t>(number);
}

std::string format_all(std::string_view text, std::span<const FormatArgument> arguments);

/// Returns `text` with each {} replaced, as fmt::format() does: "{}", "{:016x}". A text that does
/// not fit its arguments is an error at run time.
template <class... Arguments>
std::string format(std::string_view text, const Arguments&... arguments) {
    const FormatArgument all[] = {format_argument(arguments)...};
    return format_all(text, all);
}

}  // namespace heddle::detail
