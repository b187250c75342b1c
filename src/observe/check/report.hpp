// Texts for the checker's findings.
#pragma once

#include <cstdint>
#include <string>

#include <heddle/observe/check.hpp>

#include "check/finding.hpp"
#include "check/sites.hpp"

namespace heddle::detail {

/// Looks up the names and places for reports.
class ReportNames {
public:
    virtual const Site& site(SiteId id) const = 0;
    /// Returns the stream's name and device, for example "main of cuda:0".
    virtual std::string stream(std::uint64_t id) const = 0;
    /// Returns the stream's name without its device.
    virtual std::string short_stream(std::uint64_t id) const = 0;
    /// Returns the place where the stream was made, for example "solver.cpp:40". Returns an empty
    /// text if unknown.
    virtual std::string made_at(std::uint64_t) const { return {}; }

protected:
    ~ReportNames() = default;
};

/// Returns the race with its text. Do not call for an elision_fault.
check::Race race_of(const Finding& finding, const ReportNames& names);
/// Returns the text of an elision_fault.
std::string fault_text(const Finding& finding, const ReportNames& names);
/// Returns the summary, for example "heddle check: 3 races, 1 possible ...", with hints.
std::string summary_text(const check::Summary& summary, bool is_strict);

}  // namespace heddle::detail
