#include "core/base/format.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

namespace heddle::detail {

std::string format_all(std::string_view text, std::span<const FormatArgument> arguments) {
    fmt::dynamic_format_arg_store<fmt::format_context> store;
    for (const FormatArgument& one : arguments)
        std::visit([&](const auto& value) { store.push_back(value); }, one);
    return fmt::vformat(fmt::string_view(text.data(), text.size()), store);
}

}  // namespace heddle::detail
