// What is pending, as data and in words.
#pragma once

#include <cstdint>
#include <string>

#include <heddle/observe/watch.hpp>

#include "watch/causes.hpp"
#include "watch/picture.hpp"

namespace heddle::detail {

/// Makes the public description of a picture.
PendingWork describe(const Snapshot& picture, const std::vector<StuckCause>& causes);

/// Returns what has to change for another report to be worth it: what streams are at and threads
/// wait for that have not moved for `least_ns`, and the causes.
std::string signature_of(const Snapshot& picture, const std::vector<StuckCause>& causes,
                         std::int64_t least_ns);

}  // namespace heddle::detail
