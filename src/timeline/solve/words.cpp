#include "timeline/solve/words.hpp"

#include <cmath>
#include <cstdint>

#include "core/base/format.hpp"
#include "timeline/solve/trace_parts.hpp"

namespace heddle::detail {

namespace {

bool begins_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

std::string printable(std::string_view text) {
    std::string clean(text);
    for (char& c : clean)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    return clean;
}

/// Returns where the character with this number begins.
std::size_t offset_of(std::string_view text, std::size_t character) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i)
        if (begins_character(text[i]) && character-- == 0) return i;
    return text.size();
}

std::string three_digits(double number) {
    if (number < 9.995) return format("{:.2f}", number);
    return number < 99.95 ? format("{:.1f}", number) : format("{:.0f}", number);
}

}  // namespace

std::string duration_text(Moment ns) {
    if (ns < 0) return "-" + duration_text(ns == unknown_moment ? 0 : -ns);
    if (ns < 1000) return format("{} ns", ns);
    double number = static_cast<double>(ns) / 1e3;
    const char* unit = "us";
    for (const char* const next : {"ms", "s"}) {
        if (number < 999.5) break;
        number /= 1e3;
        unit = next;
    }
    return three_digits(number) + " " + unit;
}

std::string share_text(Moment part, Moment whole) {
    if (whole <= 0) return "0 %";
    const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
    if (part > 0 && percent < 0.1) return "<0.1 %";
    return part > 0 && percent < 9.95 ? format("{:.1f} %", percent) : format("{:.0f} %", percent);
}

std::string count_text(std::uint64_t count, std::string_view one, std::string_view many) {
    return format("{} {}", count, count == 1 ? one : many);
}

std::size_t columns_of(std::string_view text) noexcept {
    std::size_t columns = 0;
    for (const char c : text) columns += begins_character(c);
    return columns;
}

std::string fit(std::string_view text, std::size_t columns) {
    if (columns_of(text) <= columns) return printable(text);
    return printable(text.substr(0, offset_of(text, columns - 3))) + "...";
}

std::string fit_end(std::string_view text, std::size_t columns) {
    const std::size_t all = columns_of(text);
    if (all <= columns) return printable(text);
    return "..." + printable(text.substr(offset_of(text, all - (columns - 3))));
}

std::string name_text(const Trace& trace, const TraceOp& op) {
    const std::string& name = text_of(trace, op.name);
    const bool is_batch = op.kind == OpKind::graph_launch && op.graph < trace.graphs.size() &&
                          trace.graphs[op.graph].is_batch;
    switch (op.kind) {
    case OpKind::launch: return name.empty() ? "kernel" : name;
    case OpKind::copy: return name.empty() ? "copy" : "copy " + name;
    case OpKind::host_function: return name.empty() ? "host function" : "host function " + name;
    case OpKind::graph_launch: return is_batch ? "batch" : "graph";
    case OpKind::collective: return name.empty() ? "collective" : name;
    default: return to_string(op.kind);
    }
}

std::string place_text(const Trace& trace, TraceIndex file, std::uint32_t line) {
    const std::string& name = text_of(trace, file);
    if (name.empty()) return "(place unknown)";
    return line == 0 ? name : format("{}:{}", name, line);
}

std::string stream_text(const Trace& trace, TraceIndex stream) {
    if (stream >= trace.streams.size()) return "?";
    const std::string& name = text_of(trace, trace.streams[stream].name);
    return name.empty() ? format("stream {}", trace.streams[stream].id) : name;
}

std::string thread_text(const Trace& trace, TraceIndex thread) {
    if (thread >= trace.threads.size()) return "?";
    const std::string& name = text_of(trace, trace.threads[thread].name);
    return name.empty() ? format("thread {}", thread) : name;
}

}  // namespace heddle::detail
