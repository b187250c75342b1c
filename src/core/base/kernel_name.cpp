#include "core/base/kernel_name.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"

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

namespace {

/// Readable names, by the texts that they were extracted from.
using Names = std::map<std::string, std::string, std::less<>>;

constinit std::mutex names_mutex;
const ForkRegistration registered{ForkOrder::kernel_names, names_mutex};
constinit MadeOnce<Names> all_names;  ///< entries are never removed

/// The name that `pretty` had when this thread asked last. A library that was unloaded may leave
/// its addresses to another one, so the text is compared too.
struct Lately {
    const char* pretty = nullptr;
    const Names::value_type* found = nullptr;
};
constexpr std::size_t lately_size = 64;
constinit thread_local Lately lately[lately_size];

const Names::value_type& find(const char* pretty) {
    const std::lock_guard lock(names_mutex);
    Names& names = all_names.get();
    const auto found = names.find(std::string_view(pretty));
    return found != names.end() ? *found : *names.emplace(pretty, kernel_name(pretty)).first;
}

}  // namespace

const char* kept_kernel_name(const char* pretty) noexcept {
    Lately& one = lately[reinterpret_cast<std::uintptr_t>(pretty) / 16 % lately_size];
    if (one.pretty != pretty || std::strcmp(one.found->first.c_str(), pretty) != 0) [[unlikely]] {
        try {
            one = {pretty, &find(pretty)};
        } catch (...) {
            return pretty;
        }
    }
    return one.found->second.c_str();
}

}  // namespace heddle::detail
