// Checks shared by the collectives of one process (DeviceGroup) and of several (Communicator).
#pragma once

#include <string>

#include <heddle/detail/collective_call.hpp>

#include "core/base/errors.hpp"

namespace heddle::detail {

/// Throws UsageError for a rank that is not one of `ranks`.
[[noreturn]] void throw_no_rank(const ErrorSite& site, std::size_t rank, std::size_t ranks);
/// Throws UsageError for an average of elements that are not floating-point numbers.
void check_average(ReduceOp op, ElementType type, const char* call, const SourceLocation& where);

/// Throws UsageError if a part that is not empty is null, freed, or not memory of `device`. `what`
/// names the part in the message. Sets the owner of a part that has none and is in an array.
void check_memory(Part& part, std::size_t element, Device device, const std::string& what,
                  const char* call, const SourceLocation& where);

}  // namespace heddle::detail
