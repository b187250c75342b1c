// Names of output files, as set in environment variables.
#pragma once

#include <string>
#include <string_view>

namespace heddle::detail {

/// Returns a file's name in which each "%p" is replaced by the process id.
std::string name_for_process(std::string_view name);

}  // namespace heddle::detail
