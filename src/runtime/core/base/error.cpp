// Errors: their text, how they are thrown, and the report hook.
#include <heddle/error.hpp>

#include <cstdio>
#include <mutex>

#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/base/format.hpp"
#include "core/base/made_once.hpp"
#include "core/base/report.hpp"

namespace heddle {

namespace {

std::string describe(const ErrorInfo& info) {
    std::string about;
    const auto add = [&](const std::string& part) { about += (about.empty() ? "" : ", ") + part; };
    if (!info.call.empty()) add(detail::formatted("in {}", info.call));
    if (!info.native_name.empty())
        add(detail::formatted("{} ({})", info.native_name, info.native_code));
    if (info.stream_id != 0)
        add(detail::formatted("on {}{}", info.stream.starts_with("stream ") ? "" : "stream ",
                              info.stream));
    if (info.device)
        add(detail::formatted("{} {}", info.stream_id != 0 ? "of" : "on", *info.device));
    if (const std::string place = detail::place_text(info.where); !place.empty())
        add("called " + place);
    return about.empty() ? detail::formatted("heddle: {}", info.message)
                         : detail::formatted("heddle: {} [{}]", info.message, about);
}

/// A shared_ptr, so that copying a hook runs no user code (a copy constructor) with the mutex held.
/// A thread may lock the mutex while it holds any other lock.
using Hook = std::shared_ptr<const ReportHook>;
constinit std::mutex hook_mutex;
const detail::ForkRegistration report_hook_registered{detail::ForkOrder::report_hook, hook_mutex};

/// Objects that are needed when memory has run out, and so are made in advance.
struct Reserve {
    Hook hook;  ///< under hook_mutex
    OutOfMemory error{ErrorInfo{
        .code = ErrorCode::out_of_memory,
        .message = "out of memory, so the failed call cannot be named: free memory, then retry",
        .call = {}}};
};
constinit detail::MadeOnce<Reserve> made_reserve;
Reserve& reserve() { return made_reserve.get(); }
[[maybe_unused]] const Reserve& made_at_load = reserve();

}  // namespace

const char* to_string(ErrorCode code) noexcept {
    switch (code) {
    case ErrorCode::usage: return "usage";
    case ErrorCode::no_device: return "no_device";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::work_failed: return "work_failed";
    case ErrorCode::device_lost: return "device_lost";
    case ErrorCode::native: return "native";
    case ErrorCode::rank_lost: return "rank_lost";
    case ErrorCode::forked: return "forked";
    case ErrorCode::compile: return "compile";
    }
    return "?";
}

Error::Error(ErrorInfo info)
    : std::runtime_error(describe(info)),
      info_(std::make_shared<const ErrorInfo>(std::move(info))) {}

void throw_error(ErrorInfo info) try {
    switch (info.code) {
    case ErrorCode::usage: throw UsageError(std::move(info));
    case ErrorCode::no_device: throw NoDevice(std::move(info));
    case ErrorCode::out_of_memory: throw OutOfMemory(std::move(info));
    case ErrorCode::unsupported: throw Unsupported(std::move(info));
    case ErrorCode::work_failed: throw WorkFailed(std::move(info));
    case ErrorCode::device_lost: throw DeviceLost(std::move(info));
    case ErrorCode::native: throw NativeError(std::move(info));
    case ErrorCode::rank_lost: throw RankLost(std::move(info));
    case ErrorCode::forked: throw ForkedError(std::move(info));
    case ErrorCode::compile: throw CompileError(std::move(info));
    }
    throw Error(std::move(info));
} catch (const std::bad_alloc&) {
    detail::throw_reserved_error();
}

ReportHook set_report_hook(ReportHook next) try {
    Hook fresh = std::make_shared<const ReportHook>(std::move(next));
    for (;;) {
        Hook old;
        {
            const std::lock_guard lock(hook_mutex);
            old = reserve().hook;
        }
        // May throw std::bad_alloc; nothing has changed yet.
        ReportHook before = old != nullptr ? *old : ReportHook();
        const std::lock_guard lock(hook_mutex);
        if (reserve().hook != old) continue;  // another thread changed it
        reserve().hook.swap(fresh);
        return before;
    }
} catch (...) {
    detail::rethrow_as_error("set_report_hook", {});
}

namespace detail {

bool is_want_of_memory() noexcept {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return true;
    } catch (const OutOfMemory&) {
        return true;
    } catch (...) {
        return false;
    }
}

void rethrow_as_error(const char* call, const SourceLocation& where) {
    const auto no_memory = [&](const char* message) {
        throw_error(
            {.code = ErrorCode::out_of_memory, .message = message, .call = call, .where = where});
    };
    try {
        try {
            throw;
        } catch (const std::bad_alloc&) {
            no_memory("host memory is exhausted: free memory, then retry this call");
        } catch (const std::length_error&) {
            no_memory(
                "this call needs more host memory than can be addressed: pass fewer elements");
        }
    } catch (const std::bad_alloc&) {
        throw_reserved_error();
    }
    std::terminate();  // not reached: the code above always throws
}

// Copying an Error cannot fail (copies share their data), so the reserved error can always be
// thrown.
void throw_reserved_error() { throw OutOfMemory(reserve().error); }

void report(const Error& error) noexcept {
    try {
        Hook taker;
        {
            const std::lock_guard lock(hook_mutex);
            taker = reserve().hook;
        }
        if (taker != nullptr && *taker) (*taker)(error);
        else std::fprintf(stderr, "%s\n", error.what());
    } catch (...) {
        // The hook threw: the error is dropped.
    }
}

void report(const ErrorInfo& info) noexcept {
    try {
        throw_error(info);
    } catch (const Error& made) {
        report(made);
    } catch (...) {
        report(reserve().error);
    }
}

std::string what_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& known) {
        return known.what();
    } catch (...) {
        return "an exception that is not a std::exception";
    }
}

void report(std::exception_ptr error) noexcept {
    try {
        try {
            std::rethrow_exception(error);
        } catch (const Error& known) {
            report(known);
        } catch (const std::bad_alloc&) {
            report(reserve().error);
        } catch (...) {
            report(ErrorInfo{.code = ErrorCode::native, .message = what_of(error)});
        }
    } catch (...) {
        report(reserve().error);
    }
}

}  // namespace detail
}  // namespace heddle
