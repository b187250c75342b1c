// Pending work, as data and as text.
#pragma once

#include <cstdint>
#include <string>

#include <heddle/observe/watch.hpp>

#include "watch/causes.hpp"
#include "watch/picture.hpp"

namespace heddle::detail {

/// Returns the public description of a snapshot.
PendingWork describe(const Snapshot& picture, const std::vector<StuckCause>& causes);

/// Returns a text that changes when a new report is worthwhile. The text lists the causes, and all
/// streams and waiting threads that have not advanced for `least_ns`.
std::string signature_of(const Snapshot& picture, const std::vector<StuckCause>& causes,
                         std::int64_t least_ns);

}  // namespace heddle::detail
