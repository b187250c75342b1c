// Errors: what failed, in which call, on which stream of which device, asked for where.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <heddle/detail/location.hpp>
#include <heddle/device.hpp>

namespace heddle {

enum class ErrorCode {
    usage,      ///< the call makes no sense as it is: sizes, devices, captures, waits in host functions, ...
    no_device,  ///< no such device on this machine
    out_of_memory,  ///< an allocation failed
    unsupported,    ///< meaningful, but this backend or hardware cannot
    work_failed,    ///< a kernel, host function or copy failed: its stream is poisoned
    device_lost,    ///< CUDA's sticky errors: nothing runs on this device any more in this process
    native,         ///< any other failure of the driver or the operating system
    forked,         ///< the object belongs to the parent of this process
    compile,        ///< a program's source does not compile: the message holds the compiler's log
};

const char* to_string(ErrorCode code) noexcept;

/// Everything an Error knows, as data.
struct ErrorInfo {
    ErrorCode code = ErrorCode::usage;
    std::string message = {};      ///< what is wrong and what to do, one sentence or two
    std::string call = {};         ///< the heddle or native call that failed, "cudaMemcpyAsync"
    int native_code = 0;           ///< cudaError_t, errno; 0 if there is none
    std::string native_name = {};  ///< "cudaErrorIllegalAddress"
    std::optional<Device> device = {};
    std::uint64_t stream_id = 0;    ///< StreamRef::id(), 0 when no stream is concerned
    std::string stream = {};        ///< the stream's name
    SourceLocation where = {};      ///< the user's call
    std::exception_ptr cause = {};  ///< what a host function or CPU kernel threw
};

/// The base of everything heddle throws. Copies share their data.
class Error : public std::runtime_error {
public:
    explicit Error(ErrorInfo info);
    ErrorCode code() const noexcept { return info_->code; }
    int native_code() const noexcept { return info_->native_code; }
    const std::string& native_name() const noexcept { return info_->native_name; }
    const std::string& call() const noexcept { return info_->call; }
    const std::optional<Device>& device() const noexcept { return info_->device; }
    std::uint64_t stream_id() const noexcept { return info_->stream_id; }
    const std::string& stream() const noexcept { return info_->stream; }
    const SourceLocation& where() const noexcept { return info_->where; }
    /// The exception thrown by the host function or CPU kernel that failed, if one was.
    std::exception_ptr cause() const noexcept { return info_->cause; }
    const ErrorInfo& info() const noexcept { return *info_; }

private:
    std::shared_ptr<const ErrorInfo> info_;
};

struct UsageError : Error {
    using Error::Error;
};  ///< ErrorCode::usage
struct NoDevice : Error {
    using Error::Error;
};  ///< ErrorCode::no_device
struct OutOfMemory : Error {
    using Error::Error;
};  ///< ErrorCode::out_of_memory
struct Unsupported : Error {
    using Error::Error;
};  ///< ErrorCode::unsupported
struct WorkFailed : Error {
    using Error::Error;
};  ///< ErrorCode::work_failed
struct DeviceLost : Error {
    using Error::Error;
};  ///< ErrorCode::device_lost
struct NativeError : Error {
    using Error::Error;
};  ///< ErrorCode::native
struct ForkedError : Error {
    using Error::Error;
};  ///< ErrorCode::forked
struct CompileError : Error {
    using Error::Error;
};  ///< ErrorCode::compile

/// Throws the class that belongs to info.code.
[[noreturn]] void throw_error(ErrorInfo info);

/// Takes errors that cannot be thrown: those of destructors, of scopes left by an exception, and failures of work that nobody was told
/// of and nobody can be told of any more, because their stream was destroyed and nothing that waited for it is left. Called on the
/// thread where it happened, which may be a worker; it may not wait for anything there (UsageError). What it throws is ignored.
using ReportHook = std::function<void(const Error&)>;

/// Sets the hook and returns the one before. An empty hook writes to standard error (the default).
/// Thread-safe.
ReportHook set_report_hook(ReportHook hook);

namespace detail {
/// In a handler: throws what is being handled on, as OutOfMemory of this call where it says that memory is missing (std::bad_alloc,
/// std::length_error).
[[noreturn]] void rethrow_as_error(const char* call, const SourceLocation& where);
}  // namespace detail

}  // namespace heddle
