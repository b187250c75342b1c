// The timeline as a page: one file that needs nothing else.
#pragma once

#include <iosfwd>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// Writes an HTML page that shows the recording. It loads nothing from anywhere, and where scripts
/// are off it shows a still picture. Names may hold any bytes.
void write_page(std::ostream& out, const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
