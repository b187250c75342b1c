#include "timeline/page/look.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "timeline/solve/words.hpp"

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

constexpr Look gap_look(const char* key, GapReason reason, const char* colour, const char* brief) {
    return {key, to_string(reason), colour, brief};
}
// The colours have three families: one for the host's activity, one for waits, one for the device's
// activity.
constexpr Look gaps[] = {
    gap_look("nothing-enqueued", GapReason::nothing_enqueued, "#8a94a0", "idle"),
    gap_look("after-last", GapReason::after_last, "#a7b0ba", "end"),
    gap_look("launched-late", GapReason::launched_late, "#c58a1d", "late"),
    gap_look("queue-full", GapReason::queue_full, "#a5650f", "full"),
    gap_look("loading-code", GapReason::loading_code, "#dcae52", "code"),
    gap_look("waited", GapReason::waited, "#d1495b", "wait"),
    gap_look("device-busy", GapReason::device_busy, "#4f86bd", "busy"),
    gap_look("no-worker", GapReason::no_worker, "#76a3cc", "busy"),
    gap_look("launch-latency", GapReason::launch_latency, "#9484bd", "latency"),
};
static_assert(std::size(gaps) == static_cast<std::size_t>(GapReason::count_));

constexpr BriefName briefs[] = {
    {"host to device", "H2D"}, {"device to host", "D2H"}, {"device to device", "D2D"},
    {"peer to peer", "P2P"},   {"host to host", "H2H"},
};

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
    case OpKind::native:
    case OpKind::launch: return BarClass::kernel;
    case OpKind::graph_launch: return BarClass::graph;
    case OpKind::host_function:
    case OpKind::host_function_begin: return BarClass::host_function;
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
    case OpKind::synchronize_begin:
    case OpKind::blocked: return BarClass::block;
    case OpKind::collective: return BarClass::collective;
    default: return BarClass::other;
    }
}

bool is_shown_as_call(const TraceOp& op) noexcept {
    return op.thread != no_index && op.call_begin != unknown_moment &&
           op.call_end != unknown_moment && op.kind != OpKind::synchronize_begin &&
           op.kind != OpKind::host_function_begin;
}

std::string label_of(const Trace& trace, const TraceOp& op) {
    const std::string& name = trace.text(op.name);
    return name.empty() ? to_string(op.kind) : name;
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
    words += " on " + stream_text(trace, cause.stream);
    return device == trace.streams[gap.stream].device
               ? words
               : words + " of " + device_text(trace.devices[device]);
}

std::string axis_words(Moment moment, Moment step) {
    if (moment == 0) return "0";
    const auto ns = static_cast<double>(moment);
    const auto units = time_units();
    const auto found =
        std::ranges::find_if(units, [ns](const TimeUnit& one) { return std::abs(ns) >= one.ns; });
    const TimeUnit& unit = found == units.end() ? units.back() : *found;
    int decimals = 0;
    for (double size = unit.ns; size > 1 && size > static_cast<double>(step) * 1.0001; size /= 10)
        ++decimals;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f %s", decimals, ns / unit.ns, unit.name);
    return text.data();
}

}  // namespace heddle::detail
