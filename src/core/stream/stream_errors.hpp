// Errors about streams, and conversion of failures into exceptions.
#pragma once

#include <exception>
#include <string>

#include "core/seam/records.hpp"

namespace heddle::detail {

/// Returns an error about `stream`, with its device, id and name filled in.
ErrorInfo stream_error(ErrorCode code, StreamRecord& stream, std::string message, std::string call,
                       const SourceLocation& where);

/// Throws a failure of work and marks it as told. `stream` is the stream on which the failure was
/// found, or null. The message names that stream if the work failed on another one.
[[noreturn]] void throw_failure(const Failure& failure, StreamRecord* stream = nullptr);
/// The same, but returns an exception_ptr.
std::exception_ptr told(const Failure& failure, StreamRecord* stream = nullptr);
/// The same without marking the failure as told: the caller does that once it has told the user.
/// Throws OutOfMemory if there is no memory for the exception.
std::exception_ptr to_be_told(const Failure& failure, StreamRecord* stream = nullptr);

}  // namespace heddle::detail
