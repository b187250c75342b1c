#include "timeline/page/look.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace heddle::detail {

namespace {

constexpr Look bars[] = {
    {"kernel", "kernel", "#5b9ad5"},
    {"copy-in", "copy to device", "#36ab8c"},
    {"copy-out", "copy from device", "#dfa03a"},
    {"copy", "other copy", "#58b7c7"},
    {"fill", "fill", "#b3ad45"},
    {"host-function", "host function", "#cf86b8"},
    {"graph", "graph", "#8f9db0"},
    {"collective", "collective", "#e37e57"},
    {"memory", "allocate, free", "#a3a9b2"},
    {"order", "record, wait", "#a9b4bf"},
    {"block", "host waits", "#d3c6b4"},
    {"dropped", "dropped", "#e06464"},
    {"other", "other call", "#b6bcc4"},
};
static_assert(std::size(bars) == static_cast<std::size_t>(BarClass::count_));

// Three families: what the host did, what was waited for, and what the device did.
constexpr Look gaps[] = {
    {"nothing-enqueued", "nothing enqueued", "#8a94a0", "idle"},
    {"launched-late", "launched late", "#c58a1d", "late"},
    {"queue-full", "queue full", "#a5650f", "full"},
    {"loading-code", "loading code", "#dcae52", "code"},
    {"waited", "waited", "#d1495b", "wait"},
    {"device-busy", "device busy", "#4f86bd", "busy"},
    {"no-worker", "no worker free", "#76a3cc", "busy"},
    {"launch-latency", "launch latency", "#9484bd", "latency"},
};
static_assert(std::size(gaps) == static_cast<std::size_t>(GapReason::count_));

constexpr BriefName briefs[] = {
    {"host to device", "H2D"}, {"device to host", "D2H"}, {"device to device", "D2D"},
    {"peer to peer", "P2P"},   {"host to host", "H2H"},
};

struct Unit {
    const char* name;
    double ns;
};
constexpr Unit units[] = {{"s", 1e9}, {"ms", 1e6}, {"\xc2\xb5s", 1e3}, {"ns", 1}};

Unit unit_of(double ns) {
    const auto* unit =
        std::ranges::find_if(units, [ns](const Unit& u) { return std::abs(ns) >= u.ns; });
    return unit == std::end(units) ? units[std::size(units) - 1] : *unit;
}

std::string fixed(double value, int decimals, const char* unit) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, unit);
    return text.data();
}

}  // namespace

std::span<const Look> bar_looks() noexcept { return bars; }
std::span<const Look> gap_looks() noexcept { return gaps; }

std::span<const BriefName> brief_names() noexcept { return briefs; }

std::string look_variables() {
    std::string css = std::string("--bar-ink:") + bar_ink + ";";
    for (const std::span<const Look> looks : {bar_looks(), gap_looks()})
        for (const Look& look : looks)
            css += std::string("--") + look.key + ":" + look.colour + ";";
    return css;
}

BarClass class_of(OpKind kind, std::string_view name) noexcept {
    switch (kind) {
    case OpKind::launch: return BarClass::kernel;
    case OpKind::graph_launch: return BarClass::graph;
    case OpKind::host_function:
    case OpKind::host_function_runs: return BarClass::host_function;
    case OpKind::copy:
        return name == "host to device"   ? BarClass::copy_in
               : name == "device to host" ? BarClass::copy_out
                                          : BarClass::copy;
    case OpKind::fill: return BarClass::fill;
    case OpKind::allocate:
    case OpKind::free: return BarClass::memory;
    case OpKind::record:
    case OpKind::wait:
    case OpKind::wait_elided: return BarClass::order;
    case OpKind::dropped: return BarClass::dropped;
    case OpKind::synchronize:
    case OpKind::synchronize_begins: return BarClass::block;
    case OpKind::collective: return BarClass::collective;
    default: return BarClass::other;
    }
}

bool is_shown_as_call(const TraceOp& op) noexcept {
    return op.thread != no_index && op.call_begin != unknown_moment &&
           op.call_end != unknown_moment && op.kind != OpKind::synchronize_begins &&
           op.kind != OpKind::host_function_runs;
}

std::string label_of(const Trace& trace, const TraceOp& op) {
    const std::string& name = trace.text(op.name);
    return name.empty() ? to_string(op.kind) : name;
}

std::string stream_label(const Trace& trace, TraceIndex stream) {
    const TraceStream& s = trace.streams[stream];
    const std::string& name = trace.text(s.name);
    return name.empty() ? "stream " + std::to_string(s.id) : name;
}

std::string device_label(const TraceDevice& device) {
    return (device.is_cuda ? "cuda:" : "cpu:") + std::to_string(device.index);
}

const char* clock_words(TraceClock clock) noexcept {
    switch (clock) {
    case TraceClock::workers: return "read by its workers";
    case TraceClock::events: return "timing events";
    case TraceClock::cupti: return "CUPTI";
    case TraceClock::none: break;
    }
    return "times not known";
}

std::string gap_words(const Trace& trace, const Gap& gap) {
    const auto reason = static_cast<std::size_t>(gap.reason);
    std::string words = reason < std::size(gaps) ? gaps[reason].label : "";
    if (gap.cause == no_index) return words;
    const TraceOp& cause = trace.ops[gap.cause];
    words += gap.reason == GapReason::waited ? " for " : ": ";
    words += label_of(trace, cause);
    if (cause.stream == no_index) return words;
    const TraceIndex device = trace.streams[cause.stream].device;
    words += " on " + stream_label(trace, cause.stream);
    return device == trace.streams[gap.stream].device
               ? words
               : words + " of " + device_label(trace.devices[device]);
}

std::string duration_words(Moment length) {
    const auto ns = static_cast<double>(length);
    const Unit unit = unit_of(ns);
    const double value = ns / unit.ns;
    const double digits = std::abs(value);
    return fixed(value, unit.ns == 1 || digits >= 100 ? 0 : digits >= 10 ? 1 : 2, unit.name);
}

std::string axis_words(Moment moment, Moment step) {
    if (moment == 0) return "0";
    const auto ns = static_cast<double>(moment);
    const Unit unit = unit_of(ns);
    int decimals = 0;
    for (double size = unit.ns; size > 1 && size > static_cast<double>(step) * 1.0001; size /= 10)
        ++decimals;
    return fixed(ns / unit.ns, decimals, unit.name);
}

}  // namespace heddle::detail
