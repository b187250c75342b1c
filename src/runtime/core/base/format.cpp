#include "core/base/format.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

#include <heddle/stream/stream.hpp>

namespace heddle::detail {

namespace {

// Return the value that is passed to fmt for an argument.
template <class Number> Number shown(Number value) { return value; }
fmt::string_view shown(std::string_view text) { return {text.data(), text.size()}; }
std::string shown(Device device) { return device.name(); }
std::string shown(const StreamState* stream) {
    return Access::stream(const_cast<StreamState&>(*stream)).name();
}

}  // namespace

std::string format_all(std::string_view text, std::span<const FormatArgument> arguments) {
    fmt::dynamic_format_arg_store<fmt::format_context> store;
    for (const FormatArgument& one : arguments)
        std::visit([&](const auto& value) { store.push_back(shown(value)); }, one);
    return fmt::vformat(fmt::string_view(text.data(), text.size()), store);
}

}  // namespace heddle::detail
