// Errors that cannot be thrown.
#pragma once

#include <exception>

#include <heddle/error.hpp>

namespace heddle::detail {

/// Passes an error that cannot be thrown to the report hook; without a hook, prints it to stderr.
/// Thread-safe. Pass the error as it was caught, or its contents: the hook receives an object of
/// the class that belongs to the error's code.
void report(const Error& error) noexcept;
void report(const ErrorInfo& info) noexcept;
void report(std::exception_ptr error) noexcept;

/// Returns whether the exception that is being handled means that memory is exhausted. Call it in a
/// catch handler.
bool is_want_of_memory() noexcept;

}  // namespace heddle::detail
