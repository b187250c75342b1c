#include "core/base/kernel_name.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <cxxabi.h>

#include "core/base/fork.hpp"
#include "core/base/format.hpp"
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

namespace {

/// Removes from a name each scope ("...::") that starts with `begin`.
void remove_scopes(std::string& name, std::string_view begin) {
    for (std::size_t at = name.find(begin); at != std::string::npos; at = name.find(begin, at)) {
        const std::size_t end = name.find("::", at);
        if (end == std::string::npos) return;
        name.erase(at, end + 2 - at);
    }
}

/// Removes the parameters of a demangled function, and the result type of a template. The result
/// type ends at the last space outside brackets.
std::string without_types(std::string name) {
    int depth = 0;
    std::size_t i = name.size();
    if (!name.empty() && name.back() == ')') {
        while (i-- > 0) {
            if (name[i] == ')') ++depth;
            if (name[i] == '(' && --depth == 0) break;
        }
        name.resize(i);
    }
    depth = 0;
    for (i = name.size(); i-- > 0;) {
        if (name[i] == ')' || name[i] == '>') ++depth;
        if (name[i] == '(' || name[i] == '<') --depth;
        if (name[i] == ' ' && depth == 0) return name.substr(i + 1);
    }
    return name;
}

}  // namespace

std::string demangled(const std::string& symbol) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && text != nullptr ? text.get() : symbol;
}

std::string readable_kernel_name(const std::string& mangled) {
    if (!mangled.starts_with("_Z")) return mangled;
    const std::string text = demangled(mangled);
    return text == mangled ? text : without_types(text);
}

namespace {

/// Returns the first argument of a template's name, without heddle's namespace: "float".
std::string_view first_argument(std::string_view name) noexcept {
    const std::size_t begin = std::min(name.find('<'), name.size() - 1) + 1;
    return name.substr(begin, name.find_first_of(",>", begin) - begin);
}

/// If a kernel is one of heddle's own, returns the operation that it implements, because users do
/// not know these kernels' names. Returns other names unchanged.
std::string name_of_own(std::string name) {
    constexpr std::string_view own = "heddle::detail::";
    if (!name.starts_with(own)) return name;
    const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
    if (name.starts_with("heddle::detail::Reduce<")) {
        std::string_view type = first_argument(name);
        if (type.starts_with(own)) type.remove_prefix(own.size());
        const char* const op = has("detail::Product")    ? "product"
                               : has("detail::Min")      ? "minimum"
                               : has("detail::Max")      ? "maximum"
                               : name.ends_with("true>") ? "average"
                                                         : "sum";
        return formatted("{} of a collective ({})", op, type);
    }
    if (name.ends_with("::Fetch")) return "copy of a collective";
    return name;
}

}  // namespace

std::string kernel_name(const char* pretty) {
    if (pretty[0] == '_' && pretty[1] == 'Z') return readable_kernel_name(pretty);
    std::string name(kernel_name_in(pretty));
    remove_scopes(name, "_GLOBAL__N__");
    return name_of_own(std::move(name));
}

namespace {

/// Readable names. The keys are the texts that the names were extracted from.
using Names = std::map<std::string, std::string, std::less<>>;

constinit std::mutex names_mutex;
const ForkRegistration kernel_names_registered{ForkOrder::kernel_names, names_mutex};
constinit MadeOnce<Names> all_names;  ///< entries are never removed

/// A name that this thread looked up recently for `pretty`. Lookups compare the text as well as the
/// address, because a library may be loaded at the address of an unloaded one.
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

namespace {

/// Returns the function that contains a lambda, according to nvcc: the second argument of the
/// template whose arguments begin at `at`.
std::string second_argument(const std::string& text, std::size_t at) {
    int depth = 0;
    std::size_t begin = std::string::npos;
    for (std::size_t i = at; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '<' || c == '(') ++depth;
        if (c == ',' && depth == 0) {
            if (begin != std::string::npos) return text.substr(begin, i - begin);
            begin = text.find_first_not_of(' ', i + 1);
        }
        if ((c == '>' || c == ')') && --depth < 0) break;
    }
    return "";
}

}  // namespace

// g++ writes "f(int)::<lambda(std::size_t)>", with "{anonymous}::" in front or "[with T = int]" in
// the middle; clang writes "(lambda at folder/file.cpp:12:5)", and nvcc
// "__nv_hdl_wrapper_t<false, __nv_dl_tag<void (*)(int), f, 1>, void(std::size_t)>".
std::string readable_name(const std::string& name) {
    std::string text = name;
    for (const std::string_view scope : {"{anonymous}::", "(anonymous namespace)::"})
        for (std::size_t at = text.find(scope); at != std::string::npos; at = text.find(scope))
            text.erase(at, scope.size());
    if (const std::size_t at = text.find("(lambda at "); at != std::string::npos) {
        const std::size_t end = std::min(text.find(')', at), text.size());
        const std::string place = text.substr(at + 11, end - at - 11);
        return "lambda at " + place.substr(place.find_last_of('/') + 1);
    }
    for (const std::string_view tag : {"__nv_dl_tag<", "__nv_dl_trailing_return_tag<"})
        if (const std::size_t at = text.find(tag); at != std::string::npos)
            return "lambda in " + second_argument(text, at + tag.size());
    std::size_t lambda = text.find("::<lambda(");
    if (lambda == std::string::npos) return text;
    // For lambdas within lambdas, selects the function that contains all of them.
    if (const std::size_t with = text.find(" [with "); with < lambda) lambda = with;
    return "lambda in " + text.substr(0, lambda);
}

}  // namespace heddle::detail
