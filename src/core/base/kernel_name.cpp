#include "core/base/kernel_name.hpp"

namespace heddle::detail {

// The name follows "K = " or "F = ". g++ writes
// "... PortableOp<K, N, P>::pretty() [with K = Saxpy; int N = 1; ...]", and clang writes
// "... PortableOp<Saxpy, 1, ...>::pretty() [K = Saxpy, ...]".
std::string_view kernel_name_in(const char* pretty) noexcept {
    const std::string_view text(pretty);
    std::size_t begin = std::string_view::npos;
    for (const std::string_view mark : {"[with K = ", "[with F = ", "[K = ", "[F = "})
        if (const std::size_t at = text.find(mark); at != std::string_view::npos) {
            begin = at + mark.size();
            break;
        }
    if (begin == std::string_view::npos) return text;
    std::size_t end = begin;
    for (int depth = 0; end < text.size(); ++end) {
        const char c = text[end];
        if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
        else if (c == '>' || c == ')' || c == '}' || (c == ']' && depth > 0)) --depth;
        else if (depth == 0 && (c == ';' || c == ',' || c == ']')) break;
    }
    return text.substr(begin, end - begin);
}

std::string kernel_name(const char* pretty) { return std::string(kernel_name_in(pretty)); }

}  // namespace heddle::detail
