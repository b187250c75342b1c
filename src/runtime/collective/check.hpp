// Checks for collectives within one process (DeviceGroup) and between processes (Communicator).
#pragma once

#include <string>

#include <heddle/collective/detail/collective_call.hpp>
#include <heddle/collective/reduce_op.hpp>

#include "core/base/errors.hpp"

namespace heddle::detail {

/// Throws UsageError for a rank that is not below `ranks`.
[[noreturn]] void throw_no_rank(const ErrorSite& site, std::size_t rank, std::size_t ranks);
/// Throws UsageError for an average of elements that are not floating-point numbers.
void check_average(ReduceOp op, ElementType type, const char* call, const SourceLocation& where);

/// Throws UsageError if a part is null, freed, or not in memory of `device`. An empty part is
/// always valid. `name` is the part's name in messages. If the part has no owner but is in an
/// array, sets its owner.
void check_memory(Part& part, std::size_t element, Device device, const std::string& name,
                  const char* call, const SourceLocation& where);

}  // namespace heddle::detail
