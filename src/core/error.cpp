#include <heddle/error.hpp>

#include <cstdio>
#include <mutex>

#include <fmt/format.h>

#include "core/fork.hpp"
#include "core/registry.hpp"

namespace heddle {

namespace {

std::string describe(const ErrorInfo& info) {
    std::string text = "heddle: " + info.message;
    std::string about;
    const auto add = [&](const std::string& part) { about += (about.empty() ? "" : ", ") + part; };
    if (!info.call.empty()) add("in " + info.call);
    if (!info.native_name.empty()) add(fmt::format("{} ({})", info.native_name, info.native_code));
    if (info.stream_id != 0) add((info.stream.starts_with("stream ") ? "on " : "on stream ") + info.stream);
    if (info.device) add((info.stream_id != 0 ? "of " : "on ") + info.device->name());
    if (info.where.line != 0) add(fmt::format("asked for at {}:{}", info.where.file, info.where.line));
    return about.empty() ? text : text + " [" + about + "]";
}

struct Hook {
    std::mutex mutex;
    std::shared_ptr<const ReportHook>
        hook;  ///< null: none was set. Shared, because to copy a function takes memory
};

/// What is needed when there is no memory to make it.
struct Reserve {
    Hook hook;
    detail::Failure failure = std::make_shared<const ErrorInfo>(
        ErrorInfo{.code = ErrorCode::out_of_memory,
                  .message = "there was no memory left, not even to say what for",
                  .call = {}});
    OutOfMemory error{*failure};
};
Reserve& reserve() {
    static auto* const instance = [] {
        auto* made = new Reserve;  // never destroyed: work may outlive static destruction
        detail::register_fork_lock(detail::ForkOrder::report_hook, made->hook.mutex);
        return made;
    }();
    return *instance;
}
[[maybe_unused]] const Reserve& made_at_load = reserve();

Hook& hook() { return reserve().hook; }

/// Copies share their data, so this one can always be thrown.
[[noreturn]] void throw_reserved_error() { throw OutOfMemory(reserve().error); }

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
    case ErrorCode::forked: return "forked";
    case ErrorCode::compile: return "compile";
    }
    return "?";
}

Error::Error(ErrorInfo info)
    : std::runtime_error(describe(info)), info_(std::make_shared<const ErrorInfo>(std::move(info))) {}

void throw_error(ErrorInfo info) try {
    switch (info.code) {
    case ErrorCode::usage: throw UsageError(std::move(info));
    case ErrorCode::no_device: throw NoDevice(std::move(info));
    case ErrorCode::out_of_memory: throw OutOfMemory(std::move(info));
    case ErrorCode::unsupported: throw Unsupported(std::move(info));
    case ErrorCode::work_failed: throw WorkFailed(std::move(info));
    case ErrorCode::device_lost: throw DeviceLost(std::move(info));
    case ErrorCode::native: throw NativeError(std::move(info));
    case ErrorCode::forked: throw ForkedError(std::move(info));
    case ErrorCode::compile: throw CompileError(std::move(info));
    }
    throw Error(std::move(info));
} catch (const std::bad_alloc&) {
    throw_reserved_error();
}

ReportHook set_report_hook(ReportHook next) try {
    std::shared_ptr<const ReportHook> taker;
    if (next) taker = std::make_shared<const ReportHook>(std::move(next));
    const std::lock_guard lock(hook().mutex);
    ReportHook before = hook().hook != nullptr ? *hook().hook : ReportHook();
    hook().hook.swap(taker);
    return before;
} catch (...) {
    detail::rethrow_as_error("set_report_hook", {});
}

namespace detail {

void rethrow_as_error(const char* call, const SourceLocation& where) {
    const auto no_memory = [&](const char* message) {
        throw_error({.code = ErrorCode::out_of_memory, .message = message, .call = call, .where = where});
    };
    try {
        try {
            throw;
        } catch (const std::bad_alloc&) {
            no_memory("there is no memory on the host for what this call has to keep there");
        } catch (const std::length_error&) {
            no_memory("this call would have to keep more on the host than can be addressed");
        }
    } catch (const std::bad_alloc&) {
        throw_reserved_error();
    }
    std::terminate();  // not reached: all of the above throws
}

const Failure& no_memory_failure() noexcept { return reserve().failure; }

void report(const Error& error) noexcept {
    try {
        std::shared_ptr<const ReportHook> taker;
        {
            const std::lock_guard lock(hook().mutex);
            taker = hook().hook;
        }
        if (taker != nullptr) (*taker)(error);
        else std::fprintf(stderr, "%s\n", error.what());
    } catch (...) {
        // A hook that throws has had its chance.
    }
}

void report(const ErrorInfo& info) noexcept {
    try {
        report(Error(info));
    } catch (...) {
        report(reserve().error);
    }
}

void report(std::exception_ptr error) noexcept {
    try {
        try {
            std::rethrow_exception(std::move(error));
        } catch (const Error& known) {
            report(known);
        } catch (const std::bad_alloc&) {
            report(reserve().error);
        } catch (const std::exception& other) {
            report(Error(ErrorInfo{.code = ErrorCode::native, .message = other.what(), .call = {}}));
        } catch (...) {
            report(
                Error(ErrorInfo{.code = ErrorCode::native, .message = "an unknown exception", .call = {}}));
        }
    } catch (...) {
        report(reserve().error);
    }
}

ErrorInfo stream_error(ErrorCode code, StreamRecord& stream, std::string message, std::string call,
                       const SourceLocation& where) {
    return {.code = code,
            .message = std::move(message),
            .call = std::move(call),
            .device = stream.device,
            .stream_id = stream.id.load(),
            .stream = stream.display_name(),
            .where = where};
}

}  // namespace detail
}  // namespace heddle
