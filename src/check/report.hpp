// What the checker found, in words.
#pragma once

#include <cstdint>
#include <string>

#include <heddle/check.hpp>

#include "check/finding.hpp"
#include "check/sites.hpp"

namespace heddle::detail {

/// Finds what reports name.
class ReportNames {
public:
    virtual const Site& site(SiteId id) const = 0;
    /// Returns "main of cuda:0", for example.
    virtual std::string stream(std::uint64_t id) const = 0;
    /// Returns the stream's name alone.
    virtual std::string short_stream(std::uint64_t id) const = 0;
    /// Returns where the stream was made, "solver.cpp:40"; empty if that is not known.
    virtual std::string made_at(std::uint64_t) const { return {}; }

protected:
    ~ReportNames() = default;
};

/// Returns the race with its text. Not for an elision_fault.
check::Race race_of(const Finding& finding, const ReportNames& names);
/// Returns the text of an elision_fault.
std::string fault_text(const Finding& finding, const ReportNames& names);
/// Returns "heddle check: 3 races, 1 possible ...", with what to do about it.
std::string summary_text(const check::Summary& summary, bool is_strict);

}  // namespace heddle::detail
