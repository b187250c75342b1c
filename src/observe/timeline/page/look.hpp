// Names and colours of the picture's parts, for the page and the SVG.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// The class of a bar. It determines the bar's colour and its entry in the legend.
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
    order,   ///< an operation that records an event or waits for one
    block,   ///< a wait of the host
    dropped,
    other,
    count_
};

/// The label and colour of one part. Colours are CSS, and are the same on light and dark
/// backgrounds. They stay distinct for colour-blind readers. Text on them has a contrast of at
/// least 4.5.
struct Look {
    const char* key;  ///< name of the CSS variable (without dashes) and of the SVG class
    const char* label;
    const char* colour;
    const char* brief = "";  ///< for gaps: a shorter label for narrow gaps
};

/// Returns the looks of all bar classes, in the order of the enumeration.
std::span<const Look> bar_looks() noexcept;
/// Returns the looks of the gaps, by reason. The labels are the results of to_string(). The colours
/// are for the hatching.
std::span<const Look> gap_looks() noexcept;

/// The colour of text on bars.
inline constexpr const char* bar_ink = "#0d1319";

/// Returns "--kernel:#5b9ad5;..." for all looks, and "--bar-ink:...".
std::string look_variables();

/// Returns the class for an operation, or a graph's node, of this kind and name.
BarClass class_of(OpKind kind, std::string_view name) noexcept;
inline BarClass class_of(const Trace& trace, const TraceOp& op) noexcept {
    return class_of(op.kind, trace.text(op.name));
}

/// Returns whether the call is shown on its thread's row.
bool is_shown_as_call(const TraceOp& op) noexcept;

/// Returns the operation's name, or the name of its kind if it has none.
std::string label_of(const Trace& trace, const TraceOp& op);

/// A name with a common abbreviation, for example "H2D" for "host to device".
struct BriefName {
    std::string_view name, brief;
};
std::span<const BriefName> brief_names() noexcept;

/// Returns the reason for a gap and its cause, for example "waited for Hash on main". Without a
/// cause, returns the reason alone. Adds the device of the cause if it differs from the gap's
/// device.
std::string gap_words(const Trace& trace, const Gap& gap);

/// Returns the moment as a label for an axis, for example "12.345 ms". Ticks are `step` ns apart.
std::string axis_words(Moment moment, Moment step);

}  // namespace heddle::detail
