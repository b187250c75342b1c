// The one way to fail: functions that throw an Error with a formatted message.
//
//     if (bytes > limit)
//         usage_error({"copy", where, stream}, "{} bytes are more than the {} that fit", bytes,
//         limit);
//
// The place that fails passes views of its values and jumps to a cold function, which formats them:
// a check costs a hot path its branch. They may be called where memory has run out, and then throw
// OutOfMemory.
#pragma once

#include <array>
#include <exception>
#include <optional>
#include <string>

#include <heddle/error.hpp>

#include "core/base/format.hpp"

namespace heddle::detail {

/// What an error is about, besides its message.
struct ErrorSite {
    /// `of_call` is the heddle or native call that fails, `at` the user's.
    ErrorSite(const char* of_call, const SourceLocation& at) noexcept : call(of_call), where(at) {}
    ErrorSite(const char* of_call, const SourceLocation& at, std::optional<Device> on) noexcept
        : call(of_call), where(at), device(on) {}
    /// About a stream of that device.
    ErrorSite(const char* of_call, const SourceLocation& at, const StreamState& on) noexcept
        : call(of_call), where(at), stream(&on) {}

    /// Returns the same with the native error behind it: a cudaError_t or an errno, and the
    /// name, if it has one.
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

/// Throws the Error of that code. The message says what is wrong, with which values, and what to do
/// instead.
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

/// Throws Unsupported: a valid call that this backend, hardware or driver cannot do.
template <class... Arguments>
[[noreturn, gnu::cold, gnu::noinline]] void unsupported_error(
    const ErrorSite& site, std::type_identity_t<FormatText<Arguments...>> message,
    const Arguments&... arguments) {
    throw_described(ErrorCode::unsupported, site, message.text,
                    FormatArguments<sizeof...(arguments)>{format_argument(arguments)...});
}

/// Returns whether the place is known, and not in a header of the standard library.
bool is_own_place(const SourceLocation& where) noexcept;
/// Returns "at main.cpp:7" for messages, or "" if the place is not known. A place in a header of
/// the standard library is that of an object which make_unique() or emplace() made: the text says
/// so, and how the program can have its own line there.
std::string place_text(const SourceLocation& where);

/// Throws UsageError for a negative number, which was converted to a std::size_t that no size
/// reaches. The message has it as the user wrote it. `call` is the public call that was given it.
void refuse_negative(std::size_t number, const char* call, const SourceLocation& where);

/// The call of errors in functions that allocate and do not know for which call.
inline constexpr char allocating_call[] = "empty";
/// Does what rethrow_as_error() does. An error of the call `inner` becomes one of `call`.
[[noreturn]] void rethrow_as_error(const char* call, const SourceLocation& where,
                                   std::string_view inner);

/// Throws UsageError for an object, such as an "event", that was moved from.
[[noreturn]] void throw_moved_from(const ErrorSite& site, std::string_view what);

/// Returns an error without throwing it: a failure of work, or one with more data. Throws
/// std::bad_alloc.
template <class... Arguments>
ErrorInfo error_info(ErrorCode code, const ErrorSite& site,
                     std::type_identity_t<FormatText<Arguments...>> message,
                     const Arguments&... arguments) {
    return describe_error(code, site, message.text,
                          FormatArguments<sizeof...(arguments)>{format_argument(arguments)...});
}

/// Throws the OutOfMemory made at load. For use where there is no memory for a more specific error.
[[noreturn]] void throw_reserved_error();

/// Returns the what() of an exception, or that it has none.
std::string what_of(const std::exception_ptr& error);

/// Passes the error to the report hook, where it cannot be thrown.
template <class... Arguments>
void report_error(ErrorCode code, const ErrorSite& site,
                  std::type_identity_t<FormatText<Arguments...>> message,
                  const Arguments&... arguments) noexcept {
    report_described(code, site, message.text,
                     FormatArguments<sizeof...(arguments)>{format_argument(arguments)...});
}

}  // namespace heddle::detail
