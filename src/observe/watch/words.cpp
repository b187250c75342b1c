#include "watch/words.hpp"

#include <algorithm>
#include <string_view>

#include "core/base/format.hpp"
#include "core/base/kernel_name.hpp"
#include "core/base/peek.hpp"

namespace heddle::detail {

namespace {
/// Returns the name without namespaces. Reports show its source line beside it.
std::string short_name(const char* pretty) {
    std::string name = readable_name(kernel_name(pretty));
    if (name.starts_with("lambda ")) return name;
    const std::size_t end = std::min(name.find_first_of("<( "), name.size());
    const std::size_t scope = name.rfind("::", end);
    return scope == std::string::npos ? name : name.substr(scope + 2);
}
}  // namespace

OpWords words_of(const OpType* type) {
    OpType copy;
    if (type == nullptr || !peek(type, &copy, sizeof copy)) return {false, false, "operation", ""};
    const std::string call = peek_text(copy.call);
    const std::string name = short_name(peek_text(copy.pretty).c_str());
    if (copy.complete != nullptr || call == "launch_host")
        return {true, true, "host function", name};
    if (call == "launch") return {false, true, "kernel", name};
    return {false, false, call, call};
}

SourcePlace place_of(const SourceLocation& where) {
    if (where.line == 0) return {};
    return {peek_text(where.file), where.line};
}

std::string place_words(const SourcePlace& place) {
    if (place.line == 0) return "an unknown place";
    return formatted("{}:{}", std::string_view(place.file).substr(place.file.find_last_of('/') + 1),
                     place.line);
}

std::string place_words(const SourceLocation& where) { return place_words(place_of(where)); }

std::string name_words(OpKind kind, const char* name) {
    const std::string text = peek_text(name);
    const bool is_code = kind == OpKind::launch || kind == OpKind::host_function;
    return is_code ? short_name(text.c_str()) : text;
}

std::string time_words(std::int64_t ns) {
    return formatted("{:.1f} s", static_cast<double>(ns) / 1e9);
}

std::string count_words(std::uint64_t count, const char* noun) {
    return formatted("{} {}{}", count, std::string_view(noun),
                     std::string_view(count == 1 ? "" : "s"));
}

}  // namespace heddle::detail
