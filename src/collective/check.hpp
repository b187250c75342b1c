// Checks that collectives of one process and of many have in common.
#pragma once

#include <string>

#include <heddle/detail/collective_call.hpp>

namespace heddle::detail {

/// UsageError where a part is null, given up, or not memory of `device`. `what` names it.
void check_memory(const Part& part, std::size_t element, Device device, const std::string& what,
                  const char* call, const SourceLocation& where);

}  // namespace heddle::detail
