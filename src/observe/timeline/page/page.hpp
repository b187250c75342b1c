// The timeline as a single HTML file that needs no other files.
#pragma once

#include <iosfwd>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// Writes an HTML page that shows the recording. The page loads nothing from elsewhere. If scripts
/// are disabled, the page shows a still picture. Names may contain any bytes.
void write_page(std::ostream& out, const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
