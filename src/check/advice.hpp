// What reports advise.
#pragma once

#include <string>

#include "check/report.hpp"

namespace heddle::detail {

/// Returns what would order the two sides, for "Missing: ...". scripts/mend_races does what it
/// says.
std::string missing_text(const Finding& finding, const ReportNames& names, const check::Race& race);
/// Returns the option that makes a scope, or set_stream(), wait.
const char* wait_option(const Site& scope) noexcept;

}  // namespace heddle::detail
