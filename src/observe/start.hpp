// Observers that environment variables start (core/operation/start.hpp).
#pragma once

#include <string_view>

namespace heddle::detail {

/// Starts a recording for this value of HEDDLE_TIMELINE, which is written when the program ends.
/// Throws UsageError for an invalid value. (timeline/record/start.cpp)
void start_timeline(std::string_view value);

/// Starts the check for this value of HEDDLE_CHECK, which is not "0". The check ends with the
/// process. Throws UsageError for an unknown word. (check/start.cpp)
void start_check(std::string_view value);

/// Starts the watch for this value of HEDDLE_WATCH. Throws UsageError for an invalid value.
/// (watch/start.cpp)
void start_watch(std::string_view value);

}  // namespace heddle::detail
