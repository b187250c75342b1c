// Functions that throw an Error with a formatted message. All of heddle's errors are made here.
//
//     if (bytes > limit)
//         usage_error({"copy", where, stream},
//                     "{} bytes do not fit into the destination of {} bytes: copy fewer", bytes,
//                     limit);
//
// Callers pass their values by reference to a cold function, which formats them. So a check adds
// one branch to a hot path. When memory is exhausted, the functions throw OutOfMemory.
#pragma once

#include <array>
#include <exception>
#include <optional>
#include <string>

#include <heddle/error.hpp>

#include "core/base/format.hpp"

namespace heddle::detail {

/// The context of an error, besides its message.
struct ErrorSite {
    /// `of_call` is the heddle or native call that fails; `at` is the place of the user's call.
    ErrorSite(const char* of_call, const SourceLocation& at) noexcept : call(of_call), where(at) {}
    ErrorSite(const char* of_call, const SourceLocation& at, std::optional<Device> on) noexcept
        : call(of_call), where(at), device(on) {}
    /// For an error that concerns a stream.
    ErrorSite(const char* of_call, const SourceLocation& at, const StreamState& on) noexcept
        : call(of_call), where(at), stream(&on) {}

    /// Returns a copy of the site with a native error: a cudaError_t or an errno, and its name, if
    /// the error has one.
    ErrorSite with_native(int code, const char* name = "") const noexcept {
        ErrorSite site = *this;
        site.native_code = code;
        site.native_name = name;
        return site;
    }

    const char* call;
    SourceLocation where;
    const StreamState* stream = nullptr;
    std::optional<Device> device = {};
    int native_code = 0;
    const char* native_name = "";
};

ErrorInfo describe_error(ErrorCode code, const ErrorSite& site, std::string_view text,
                         std::span<const FormatArgument> arguments);
[[noreturn, gnu::cold]] void throw_described(ErrorCode code, const ErrorSite& site,
                                             std::string_view text,
                                             std::span<const FormatArgument> arguments);
[[gnu::cold]] void report_described(ErrorCode code, const ErrorSite& site, std::string_view text,
                                    std::span<const FormatArgument> arguments) noexcept;

/// The arguments of one message.
template <std::size_t count> using FormatArguments = std::array<FormatArgument, count>;

/// Throws the subclass of Error for `code`. The message states the fault, the values, and the
/// remedy.
template <class... Arguments>
[[noreturn, gnu::cold, gnu::noinline]] void coded_error(
    ErrorCode code, const ErrorSite& site, std::type_identity_t<FormatText<Arguments...>> message,
    const Arguments&... arguments) {
    throw_described(code, site, message.text,
                    FormatArguments<sizeof...(arguments)>{format_argument(arguments)...});
}

/// Throws UsageError.
template <class... Arguments>
[[noreturn, gnu::cold, gnu::noinline]] void usage_error(
    const ErrorSite& site, std::type_identity_t<FormatText<Arguments...>> message,
    const Arguments&... arguments) {
    throw_described(ErrorCode::usage, site, message.text,
                    FormatArguments<sizeof...(arguments)>{format_argument(arguments)...});
}

/// Throws Unsupported, for a valid call that this backend, hardware or driver cannot execute.
template <class... Arguments>
[[noreturn, gnu::cold, gnu::noinline]] void unsupported_error(
    const ErrorSite& site, std::type_identity_t<FormatText<Arguments...>> message,
    const Arguments&... arguments) {
    throw_described(ErrorCode::unsupported, site, message.text,
                    FormatArguments<sizeof...(arguments)>{format_argument(arguments)...});
}

/// Returns whether the place is known and is outside the standard library's headers.
bool is_own_place(const SourceLocation& where) noexcept;
/// Returns "at main.cpp:7" for messages, or "" if the place is unknown. A place in a header of the
/// standard library belongs to an object made by make_unique() or emplace(). For such a place, the
/// text explains how to get the program's own line.
std::string place_text(const SourceLocation& where);

/// Throws UsageError for a negative number that was converted to a huge std::size_t. The message
/// shows the negative number. `call` is the public call that received the number.
void refuse_negative(std::size_t number, const char* call, const SourceLocation& where);

/// The call that errors of allocating functions name if these functions do not know their caller.
inline constexpr char allocating_call[] = "empty";
/// Rethrows like the other rethrow_as_error(). If the error names the call `inner`, names `call`
/// instead.
[[noreturn]] void rethrow_as_error(const char* call, const SourceLocation& where,
                                   std::string_view inner);

/// Throws UsageError for an object, such as an "event", that was moved from.
[[noreturn]] void throw_moved_from(const ErrorSite& site, std::string_view what);

/// Returns an error without throwing it, for failures of work and for errors with additional data.
/// Throws std::bad_alloc.
template <class... Arguments>
ErrorInfo error_info(ErrorCode code, const ErrorSite& site,
                     std::type_identity_t<FormatText<Arguments...>> message,
                     const Arguments&... arguments) {
    return describe_error(code, site, message.text,
                          FormatArguments<sizeof...(arguments)>{format_argument(arguments)...});
}

/// Throws the OutOfMemory that was made when the library was loaded. Used where there is no memory
/// for a more specific error.
[[noreturn]] void throw_reserved_error();

/// Returns the what() of an exception, or a fixed text if it is not a std::exception.
std::string what_of(const std::exception_ptr& error);

/// Passes an error that cannot be thrown to the report hook.
template <class... Arguments>
void report_error(ErrorCode code, const ErrorSite& site,
                  std::type_identity_t<FormatText<Arguments...>> message,
                  const Arguments&... arguments) noexcept {
    report_described(code, site, message.text,
                     FormatArguments<sizeof...(arguments)>{format_argument(arguments)...});
}

}  // namespace heddle::detail
