// What is pending, as data and in words.
#pragma once

#include <cstdint>
#include <string>

#include <heddle/observe/watch.hpp>

#include "watch/causes.hpp"
#include "watch/picture.hpp"

namespace heddle::detail {

/// Makes the public description of a picture.
PendingWork describe(const Picture& picture, const std::vector<Cause>& causes);

/// Returns what has to change for another report to be worth it: what streams are at and threads
/// wait for that have not moved for `least_ns`, and the causes.
std::string signature_of(const Picture& picture, const std::vector<Cause>& causes,
                         std::int64_t least_ns);

}  // namespace heddle::detail
