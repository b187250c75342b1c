// What the picture's parts are called and how they are coloured: for the page and the SVG.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// What a bar shows: its colour, and its entry in the legend.
enum class BarClass : std::uint8_t {
    kernel,
    copy_in,   ///< to a device
    copy_out,  ///< from a device
    copy,      ///< between or within devices, or within the host
    fill,
    host_function,
    graph,
    collective,
    memory,  ///< allocated or freed
    order,   ///< recorded or waited for an event
    block,   ///< the host waits
    dropped,
    other,
    count_
};

/// Colours are CSS. They are told apart by people who see no red, green or blue, and the text on
/// them has a contrast of 4.5 or more; the same in light and dark.
struct Look {
    const char* key;  ///< the CSS variable without dashes, and the class in the SVG
    const char* label;
    const char* colour;
    const char* brief = "";  ///< of gaps: where there is no room for the label
};

/// Returns the looks of the classes in their order.
std::span<const Look> bar_looks() noexcept;
/// Returns the looks of the gaps by reason: their labels are to_string()'s, and the colour is the
/// hatching's.
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

/// Returns the operation's name, or that of its kind if it has none.
std::string label_of(const Trace& trace, const TraceOp& op);

/// Names that everybody shortens: "host to device" is "H2D".
struct BriefName {
    std::string_view name, brief;
};
std::span<const BriefName> brief_names() noexcept;

/// Returns "waited for Hash on main", or the reason alone if it has no cause. Names the device if
/// that was another one.
std::string gap_words(const Trace& trace, const Gap& gap);

/// Returns the moment for an axis whose ticks are `step` ns apart: "12.345 ms".
std::string axis_words(Moment moment, Moment step);

}  // namespace heddle::detail
