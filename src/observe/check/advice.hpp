// The advice of race reports: the missing wait or edge.
#pragma once

#include <string>

#include "check/report.hpp"

namespace heddle::detail {

/// Returns the text after "Missing: ": the wait or edge that would order the two sides.
/// scripts/mend_races parses the text and applies the advice.
std::string missing_text(const Finding& finding, const ReportNames& names, const check::Race& race);
/// Returns the name of the option that makes a scope or set_stream() wait.
const char* wait_option(const Site& scope) noexcept;

}  // namespace heddle::detail
