// The timeline as a still picture.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

struct SvgOptions {
    Moment from = unknown_moment, to = unknown_moment;  ///< the stretch to show; unknown: all
    unsigned width = 1200;                              ///< in pixels; at least 400
    /// Limit on the rectangles for bars and gaps. If there are more bars, adjacent ones are drawn
    /// together, shaded by their share of the time.
    std::size_t most_rectangles = 2000;
};

/// Writes an SVG picture with rows, bars, gaps with their reasons, and arrows of waits that held up
/// work. It is readable on light and dark ground. Throws UsageError if `from` is not before `to`.
void write_svg(std::ostream& out, const Trace& trace, const Solution& solution,
               const SvgOptions& options);

}  // namespace heddle::detail
