#include "timeline/solve/words.hpp"

#include <algorithm>
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

/// Returns the offset of the character with this index, in bytes.
std::size_t offset_of(std::string_view text, std::size_t character) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i)
        if (begins_character(text[i]) && character-- == 0) return i;
    return text.size();
}

constexpr TimeUnit units[] = {{"s", 1e9}, {"ms", 1e6}, {"\xc2\xb5s", 1e3}, {"ns", 1}};

std::string three_digits(double number) {
    if (number < 9.995) return formatted("{:.2f}", number);
    return number < 99.95 ? formatted("{:.1f}", number) : formatted("{:.0f}", number);
}

/// Returns the last parts of a path, with their separators.
std::string_view last_parts(std::string_view path, std::size_t parts) noexcept {
    std::size_t begin = path.size();
    while (parts-- > 0 && begin != std::string_view::npos && begin > 0)
        begin = path.find_last_of("/\\", begin - 1);
    return path.substr(begin == std::string_view::npos || begin == 0 ? 0 : begin + 1);
}

std::string with_line(std::string_view file, std::uint32_t line) {
    return line == 0 ? std::string(file) : formatted("{}:{}", file, line);
}

}  // namespace

std::span<const TimeUnit> time_units() noexcept { return units; }

std::string duration_text(Moment ns) {
    if (ns < 0) return "-" + duration_text(ns == unknown_moment ? 0 : -ns);
    if (ns < 1000) return formatted("{} ns", ns);
    const auto number = static_cast<double>(ns);
    // Selects the largest unit in which the rounded number is at least 1.
    const auto* const unit =
        std::ranges::find_if(units, [&](const TimeUnit& one) { return number >= 0.9995 * one.ns; });
    return three_digits(number / unit->ns) + " " + unit->name;
}

std::string share_text(Moment part, Moment whole) {
    if (whole <= 0) return "0 %";
    const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
    if (part > 0 && percent < 0.1) return "<0.1 %";
    return part > 0 && percent < 9.95 ? formatted("{:.1f} %", percent)
                                      : formatted("{:.0f} %", percent);
}

std::string count_text(std::uint64_t count, std::string_view one, std::string_view many) {
    return formatted("{} {}", count, count == 1 ? one : many);
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
    case OpKind::native: return name.empty() ? "native work" : name;
    default: return to_string(op.kind);
    }
}

std::string full_place_text(const Trace& trace, TraceIndex file, std::uint32_t line) {
    const std::string& name = text_of(trace, file);
    return name.empty() ? "(place unknown)" : with_line(name, line);
}

std::string place_text(const Trace& trace, const TraceOp& op, std::size_t columns) {
    const std::string& name = text_of(trace, op.file);
    if (name.empty()) return "(place unknown)";
    const std::string place = with_line(last_parts(name, 2), op.line);
    if (columns_of(place) <= columns) return printable(place);
    return fit_end(with_line(last_parts(name, 1), op.line), columns);
}

std::string stream_text(const Trace& trace, TraceIndex stream) {
    if (stream >= trace.streams.size()) return "?";
    const std::string& name = text_of(trace, trace.streams[stream].name);
    return name.empty() ? formatted("stream {}", trace.streams[stream].id) : name;
}

std::string thread_text(const Trace& trace, TraceIndex thread) {
    if (thread >= trace.threads.size()) return "?";
    const std::string& name = text_of(trace, trace.threads[thread].name);
    return name.empty() ? formatted("thread {}", thread) : name;
}

std::string device_text(const TraceDevice& device) {
    return formatted("{}:{}", device.is_cuda ? "cuda" : "cpu", device.index);
}

const char* clock_text(TraceClock clock) noexcept {
    switch (clock) {
    case TraceClock::none: return "times not measured";
    case TraceClock::workers: return "times by its workers";
    case TraceClock::events: return "ends by timing events";
    case TraceClock::cupti: return "times by CUPTI";
    }
    return "?";
}

const char* access_text(AccessMode mode) noexcept {
    switch (mode) {
    case AccessMode::read: return "reads";
    case AccessMode::write: return "writes";
    case AccessMode::read_write: return "reads and writes";
    case AccessMode::concurrent: return "updates";
    }
    return "?";
}

}  // namespace heddle::detail
