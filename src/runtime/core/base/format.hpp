// Formatted text. Only format.cpp includes fmt, because fmt adds six seconds to a file's
// compilation.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <heddle/device/device.hpp>

namespace heddle::detail {

struct StreamState;

/// A value to be formatted; strings are not copied. Devices and streams are formatted as their
/// names.
using FormatArgument =
    std::variant<std::int64_t, std::uint64_t, double, std::string_view, Device, const StreamState*>;

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
inline FormatArgument format_argument(Device device) noexcept { return device; }
inline FormatArgument format_argument(const StreamState& stream) noexcept { return &stream; }

/// A text with one {} for each argument. The compiler checks that the numbers are equal.
template <class... Arguments> struct FormatText {
    consteval FormatText(const char* literal) : text(literal) {
        std::size_t fields = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const bool doubled = i + 1 < text.size() && text[i] == text[i + 1];
            if (text[i] != '{' && text[i] != '}') continue;
            if (doubled) ++i;  // "{{" stands for a brace
            else if (text[i] == '{') ++fields;
        }
        if (fields != sizeof...(Arguments)) throw "a text has one {} for each argument";
    }
    std::string_view text;
};

std::string format_all(std::string_view text, std::span<const FormatArgument> arguments);

/// Returns the text with each {} replaced, as fmt::format() does: "{}", "{:016x}".
template <class... Arguments>
std::string formatted(std::type_identity_t<FormatText<Arguments...>> text,
                      const Arguments&... arguments) {
    const FormatArgument all[] = {format_argument(arguments)...};
    return format_all(text.text, all);
}

}  // namespace heddle::detail
