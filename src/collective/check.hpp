// Checks shared by the collectives of one process (DeviceGroup) and of several (Communicator).
#pragma once

#include <string>

#include <heddle/detail/collective_call.hpp>

namespace heddle::detail {

/// Throws UsageError if a part that is not empty is null, freed, or not memory of `device`. `what`
/// names the part in the message.
void check_memory(const Part& part, std::size_t element, Device device, const std::string& what,
                  const char* call, const SourceLocation& where);

}  // namespace heddle::detail
