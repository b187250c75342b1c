#include "timeline/file/chrome_text.hpp"

#include "core/base/format.hpp"
#include "timeline/file/json_out.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::detail {

namespace {

/// Returns a key that determines an operation's name.
std::uint64_t key_of(const Trace& trace, const TraceOp& op) {
    const bool is_batch = op.graph < trace.graphs.size() && trace.graphs[op.graph].is_batch;
    return std::uint64_t{op.name} << 16 | static_cast<std::uint64_t>(op.kind) << 1 | is_batch;
}

/// Returns the cached text for the key. Calls make() if the text is not cached yet.
template <class Texts, class Make>
const std::string& cached(Texts& texts, std::uint64_t key, Make make) {
    const auto [found, is_new] = texts.try_emplace(key);
    if (is_new) found->second = make();
    return found->second;
}

}  // namespace

std::string_view chrome_category(OpKind kind) noexcept {
    switch (kind) {
    case OpKind::launch: return "kernel";
    case OpKind::graph_launch: return "graph";
    case OpKind::host_function:
    case OpKind::host_function_begin: return "host_function";
    case OpKind::copy: return "copy";
    case OpKind::fill: return "fill";
    case OpKind::allocate:
    case OpKind::free: return "memory";
    case OpKind::collective: return "collective";
    case OpKind::native: return "native";
    default: return "other";
    }
}

const std::string& ChromeText::name(const TraceOp& op) {
    return cached(names_, key_of(trace_, op), [&] { return in_json(name_text(trace_, op)); });
}

const std::string& ChromeText::call(const TraceOp& op) {
    return cached(calls_, key_of(trace_, op), [&] {
        const bool is_launch = op.kind == OpKind::launch || op.kind == OpKind::graph_launch;
        return in_json((is_launch ? "launch " : "") + name_text(trace_, op));
    });
}

const std::string& ChromeText::place(TraceIndex file, std::uint32_t line) {
    return cached(places_, std::uint64_t{file} << 32 | line, [&] {
        const bool is_known = !trace_.text(file).empty();
        return is_known ? in_json(full_place_text(trace_, file, line)) : std::string();
    });
}

const std::string& ChromeText::stream(TraceIndex stream) {
    return cached(streams_, stream, [&] { return in_json(stream_text(trace_, stream)); });
}

const std::string& ChromeText::access(TraceIndex access) {
    return cached(accesses_, access, [&] { return in_json(words_of(trace_.accesses[access])); });
}

std::string ChromeText::words_of(const TraceAccess& access) const {
    std::string text(access_text(access.mode));
    if (const std::string& name = trace_.text(access.name); !name.empty()) text += " " + name;
    text += ": ";
    if (access.rows != 1)
        text += detail::formatted("{} rows, {} bytes apart, of ", access.rows, access.pitch);
    text += detail::formatted("{} bytes at 0x{:x}", access.bytes, access.address());
    if (access.argument >= 0) text += detail::formatted(", argument {}", int{access.argument});
    return text;
}

}  // namespace heddle::detail
