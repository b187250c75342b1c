// The timeline as a still picture.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

struct SvgOptions {
    /// The stretch to show; by default all of it.
    Moment from = unknown_moment, to = unknown_moment;
    unsigned width = 1200;  ///< in pixels; at least 400
    /// Limits the number of rectangles for bars and gaps. If there are more bars, neighbours are
    /// merged into one rectangle, whose shade shows their share of the time.
    std::size_t most_rectangles = 2000;
};

/// Writes an SVG picture with rows, bars, gaps and arrows. Gaps show their reasons. Arrows show the
/// waits that held up work. The picture is readable on light and dark backgrounds. Throws
/// UsageError if `from` is not before `to`.
void write_svg(std::ostream& out, const Trace& trace, const Solution& solution,
               const SvgOptions& options);

}  // namespace heddle::detail
