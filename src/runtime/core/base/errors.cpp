#include "core/base/errors.hpp"

#include <heddle/stream/stream.hpp>

#include "core/base/report.hpp"

namespace heddle::detail {

ErrorInfo describe_error(ErrorCode code, const ErrorSite& site, std::string_view text,
                         std::span<const FormatArgument> arguments) {
    ErrorInfo info{.code = code,
                   .message = format_all(text, arguments),
                   .call = site.call,
                   .native_code = site.native_code,
                   .native_name = site.native_name,
                   .device = site.device,
                   .where = site.where};
    if (site.stream != nullptr) {
        const StreamRef stream = Access::stream(const_cast<StreamState&>(*site.stream));
        info.device = stream.device();
        info.stream_id = stream.id();
        info.stream = stream.name();
    }
    return info;
}

void throw_described(ErrorCode code, const ErrorSite& site, std::string_view text,
                     std::span<const FormatArgument> arguments) try {
    throw_error(describe_error(code, site, text, arguments));
} catch (...) {
    rethrow_as_error(site.call, site.where);
}

void report_described(ErrorCode code, const ErrorSite& site, std::string_view text,
                      std::span<const FormatArgument> arguments) noexcept {
    try {
        report(describe_error(code, site, text, arguments));
    } catch (...) {
        report(std::current_exception());
    }
}

bool is_own_place(const SourceLocation& where) noexcept {
    // The headers of libstdc++ and of libc++ are in .../c++/<version>/.
    return where.line != 0 && std::string_view(where.file).find("/c++/") == std::string_view::npos;
}

std::string place_text(const SourceLocation& where) {
    if (where.line == 0) return "";
    if (is_own_place(where)) return formatted("at {}:{}", where.file, where.line);
    return "by the standard library, for example make_unique() or emplace(): pass Where() as the "
           "last argument to see your line here";
}

void refuse_negative(std::size_t number, const char* call, const SourceLocation& where) {
    if (const auto passed = static_cast<std::ptrdiff_t>(number); passed < 0)
        usage_error({call, where}, "a size is {}: pass 0 or more", passed);
}

void rethrow_as_error(const char* call, const SourceLocation& where, std::string_view inner) try {
    try {
        throw;
    } catch (const Error& error) {
        if (error.call() != inner || inner == call) throw;
        ErrorInfo info = error.info();
        info.call = call;
        throw_error(std::move(info));
    }
} catch (...) {
    rethrow_as_error(call, where);
}

void throw_moved_from(const ErrorSite& site, std::string_view what) {
    usage_error(site, "this {} was moved from: assign to it before its next use", what);
}

}  // namespace heddle::detail
