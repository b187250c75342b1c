#include <heddle/error.hpp>

#include <cstdio>
#include <mutex>

#include <fmt/format.h>

#include "core/fork.hpp"
#include "core/made_once.hpp"
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

/// Shared, so that nothing of the user's is copied under the mutex, which every thread may take whatever else it holds.
using Hook = std::shared_ptr<const ReportHook>;
constinit std::mutex hook_mutex;
constinit detail::MadeOnce<Hook> hook;
const detail::ForkRegistration registered{detail::ForkOrder::report_hook, hook_mutex};

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

void throw_error(ErrorInfo info) {
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
}

ReportHook set_report_hook(ReportHook next) {
    Hook fresh = std::make_shared<const ReportHook>(std::move(next));
    {
        const std::lock_guard lock(hook_mutex);
        hook.get().swap(fresh);
    }
    return fresh != nullptr ? *fresh : ReportHook();
}

namespace detail {

void report(const Error& error) noexcept {
    try {
        Hook taker;
        {
            const std::lock_guard lock(hook_mutex);
            taker = hook.get();
        }
        if (taker != nullptr && *taker) (*taker)(error);
        else std::fprintf(stderr, "%s\n", error.what());
    } catch (...) {
        // A hook that throws has had its chance.
    }
}

Failure as_failure(std::exception_ptr error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& known) {
        return make_failure(known.info());
    } catch (const std::exception& other) {
        return make_failure({.code = ErrorCode::work_failed, .message = other.what(), .cause = error});
    } catch (...) {
        return make_failure({.code = ErrorCode::work_failed, .message = "an unknown exception", .cause = error});
    }
}

void report(std::exception_ptr error) noexcept {
    try {
        std::rethrow_exception(std::move(error));
    } catch (const Error& known) {
        report(known);
    } catch (const std::exception& other) {
        report(Error(ErrorInfo{.code = ErrorCode::native, .message = other.what(), .call = {}}));
    } catch (...) {
        report(Error(ErrorInfo{.code = ErrorCode::native, .message = "an unknown exception", .call = {}}));
    }
}

FailedWork::~FailedWork() {
    if (state_.load(std::memory_order_acquire) != State::untold) return;
    const InHostFunction mark;  // the hook may wait for nothing: this may be any thread, a worker too
    try {
        report(Error(*this));
    } catch (...) {
        // no memory for the report
    }
}

void throw_failure(const Failure& failure, StreamRecord* stream) {
    failure->note_told();
    // What failed elsewhere came here by waiting: the reader looks for it on the stream in hand.
    if (stream == nullptr || failure->code != ErrorCode::work_failed ||
        failure->stream_id == stream->id.load())
        throw_error(*failure);
    ErrorInfo info = *failure;
    info.message += "; stream '" + stream->display_name() + "' waited for it, and took the failure over";
    throw_error(std::move(info));
}

std::exception_ptr told(const Failure& failure, StreamRecord* stream) {
    try {
        throw_failure(failure, stream);
    } catch (...) {
        return std::current_exception();
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
