// Makes failures of streams' work, and converts them into exceptions.
#pragma once

#include <exception>
#include <string>

#include "core/failure/fallible_stream.hpp"
#include <heddle/stream/detail/host_op.hpp>

namespace heddle::detail {

/// The consequence of failed work for its stream: the end of each message.
inline constexpr const char* consequence_of_failure =
    "later work on this stream, and on streams that wait for it, is dropped";

/// Returns the failure for an exception that left a kernel or host function. `node` is the name of
/// the graph's node, or null.
Failure failure_of_throw(FallibleStream& stream, const OpType& type, const SourceLocation& where,
                         const std::exception_ptr& thrown,
                         const std::string* node = nullptr) noexcept;
/// Returns the failure for work that ran out of host memory where no caller can catch an exception.
Failure failure_for_want_of_memory(FallibleStream& stream, const char* call,
                                   const SourceLocation& where) noexcept;

/// Throws a failure of work and marks it as reported. `stream` is the stream on which the failure
/// was found, or null. The message names that stream if the work failed on another one.
[[noreturn]] void throw_failure(const Failure& failure, FallibleStream* stream = nullptr);
/// Returns the exception of throw_failure(), and marks the failure as reported.
std::exception_ptr told(const Failure& failure, FallibleStream* stream = nullptr);
/// Returns the exception of throw_failure() without marking the failure as reported. The caller
/// must mark the failure once it has reported the exception. Throws OutOfMemory if there is no
/// memory for the exception.
std::exception_ptr to_be_told(const Failure& failure, FallibleStream* stream = nullptr);

}  // namespace heddle::detail
