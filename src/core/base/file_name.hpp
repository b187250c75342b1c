// Names of files that environment variables ask for.
#pragma once

#include <string>
#include <string_view>

namespace heddle::detail {

/// Returns a file's name with the process's number for each "%p".
std::string name_for_process(std::string_view name);

}  // namespace heddle::detail
