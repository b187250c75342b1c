// The timeline as a page: one file that is complete in itself.
#pragma once

#include <iosfwd>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// Writes an HTML page that shows the recording. The page loads nothing from elsewhere. Without
/// scripts it shows a still picture. Names may contain any bytes.
void write_page(std::ostream& out, const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
