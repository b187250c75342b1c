// Names and colours of the picture's parts, for the page and the SVG.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// The class of a bar, which determines its colour and its entry in the legend.
enum class BarClass : std::uint8_t {
    kernel,
    copy_in,   ///< to a device
    copy_out,  ///< from a device
    copy,      ///< between or within devices, or within the host
    fill,
    host_function,
    graph,
    collective,
    memory,  ///< allocation or free
    order,   ///< an event recorded or waited for
    block,   ///< the host waits
    dropped,
    other,
    count_
};

/// Colours are CSS, the same on light and dark ground. They remain distinct without red, green or
/// blue vision. Text on them has a contrast of at least 4.5.
struct Look {
    const char* key;  ///< the CSS variable without dashes, and the class in the SVG
    const char* label;
    const char* colour;
    const char* brief = "";  ///< for gaps: a short label where `label` does not fit
};

/// Returns the looks of the classes in their order.
std::span<const Look> bar_looks() noexcept;
/// Returns the looks of the gaps by reason. The labels are those of to_string(), the colours are
/// for the hatching.
std::span<const Look> gap_looks() noexcept;

/// The colour of text on bars.
inline constexpr const char* bar_ink = "#0d1319";

/// Returns "--kernel:#5b9ad5;..." for all looks, and "--bar-ink:...".
std::string look_variables();

/// Returns the class of an operation, or of a graph's node, of that kind and name.
BarClass class_of(OpKind kind, std::string_view name) noexcept;
inline BarClass class_of(const Trace& trace, const TraceOp& op) noexcept {
    return class_of(op.kind, trace.text(op.name));
}

/// Returns whether the call is shown on its thread's row.
bool is_shown_as_call(const TraceOp& op) noexcept;

/// Returns the operation's name, or the name of its kind if it has none.
std::string label_of(const Trace& trace, const TraceOp& op);

/// Names with a common abbreviation: "host to device" is "H2D".
struct BriefName {
    std::string_view name, brief;
};
std::span<const BriefName> brief_names() noexcept;

/// Returns "waited for Hash on main", or the reason alone if there is no cause. Adds the device if
/// the cause ran on another one.
std::string gap_words(const Trace& trace, const Gap& gap);

/// Returns the moment for an axis whose ticks are `step` ns apart: "12.345 ms".
std::string axis_words(Moment moment, Moment step);

}  // namespace heddle::detail
