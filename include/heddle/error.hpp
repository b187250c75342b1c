// Errors: the failure, the failed call, its stream and device, and the user's call site.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <heddle/device/device.hpp>
#include <heddle/location.hpp>

namespace heddle HEDDLE_VISIBLE {

/// The kinds of failures. Each has a class of exceptions.
enum class ErrorCode {
    /// The call is invalid: wrong sizes or devices, a wait in a host function or capture, ...
    usage,
    /// This machine has no such device.
    no_device,
    /// An allocation failed.
    out_of_memory,
    /// The call is valid, but this backend or hardware cannot do it.
    unsupported,
    /// A kernel, host function or copy failed; its stream is poisoned.
    work_failed,
    /// A sticky CUDA error: this process can run nothing on the device any more.
    device_lost,
    /// Any other failure of the driver, a library (NCCL, NVRTC) or the operating system.
    native,
    /// In a child of fork(): the object belongs to the parent, or the parent has used CUDA.
    forked,
    /// The source of a program, or PTX, does not compile; the message holds the compiler's log.
    compile,
    /// A rank of a Communicator has ended, or has not joined or not taken part in time.
    rank_lost,
};

/// Returns the name of a code, "out_of_memory" for example.
const char* to_string(ErrorCode code) noexcept;

/// The contents of an Error.
struct ErrorInfo {
    /// Decides the class of the exception; see throw_error().
    ErrorCode code = ErrorCode::usage;
    std::string message = {};      ///< the fault and its remedy, in one or two sentences
    std::string call = {};         ///< the heddle or native call that failed: "cudaMemcpyAsync"
    int native_code = 0;           ///< cudaError_t, errno or a library's code; 0 if none
    std::string native_name = {};  ///< "cudaErrorIllegalAddress"
    /// The device that the call was for; empty if none is involved.
    std::optional<Device> device = {};
    std::uint64_t stream_id = 0;    ///< StreamRef::id(), or 0 if no stream is involved
    std::string stream = {};        ///< the stream's name
    SourceLocation where = {};      ///< the user's call site
    std::exception_ptr cause = {};  ///< the exception that a host function or CPU kernel threw
};

/// The base class of all exceptions that heddle throws.
///
///     try {
///         stream.synchronize();
///     } catch (const WorkFailed& error) {
///         std::puts(error.what());  // message, call, device, stream and call site
///     }
///
/// Lifetime: copies share their data, so copying never throws. Thread-safety: members do not change
/// it, so threads may share it.
class Error : public std::runtime_error {
public:
    /// Makes an error with these contents. To throw the class that belongs to the code, call
    /// throw_error().
    explicit Error(ErrorInfo info);
    /// Returns the kind of failure.
    ErrorCode code() const noexcept { return info_->code; }
    /// Returns the cudaError_t, errno or library's code that caused the failure, or 0.
    int native_code() const noexcept { return info_->native_code; }
    /// Returns the name of native_code(), for example "cudaErrorIllegalAddress", or an empty string
    /// if there is none.
    const std::string& native_name() const noexcept { return info_->native_name; }
    /// Returns the heddle or native call that failed.
    const std::string& call() const noexcept { return info_->call; }
    /// Returns the device; empty if none is involved.
    const std::optional<Device>& device() const noexcept { return info_->device; }
    /// Returns the stream's StreamRef::id(), or 0 if no stream is involved.
    std::uint64_t stream_id() const noexcept { return info_->stream_id; }
    /// Returns the stream's name, or an empty string.
    const std::string& stream() const noexcept { return info_->stream; }
    /// Returns the user's call site. Its file is empty if the call site is unknown.
    const SourceLocation& where() const noexcept { return info_->where; }
    /// Returns the exception that the failed host function or CPU kernel threw, or null.
    std::exception_ptr cause() const noexcept { return info_->cause; }
    /// Returns all contents.
    const ErrorInfo& info() const noexcept { return *info_; }

private:
    std::shared_ptr<const ErrorInfo> info_;
};

/// Thrown if the call is invalid (ErrorCode::usage). The message names a remedy.
struct UsageError : Error {
    using Error::Error;
};
/// Thrown if this machine has no such device, or this process does not see it
/// (ErrorCode::no_device).
struct NoDevice : Error {
    using Error::Error;
};
/// Thrown if an allocation fails, of device or host memory (ErrorCode::out_of_memory). heddle
/// throws it in place of std::bad_alloc. It is not derived from std::bad_alloc.
struct OutOfMemory : Error {
    using Error::Error;
};
/// Thrown if the call is valid, but this build, device or driver cannot do it
/// (ErrorCode::unsupported).
struct Unsupported : Error {
    using Error::Error;
};
/// Thrown by calls that wait for or query work if the work has failed (ErrorCode::work_failed). The
/// stream stays poisoned until StreamRef::clear_error(). For a host function or a CPU kernel that
/// threw, cause() returns the exception.
struct WorkFailed : Error {
    using Error::Error;
};
/// Thrown by calls for a device on which a sticky CUDA error has occurred (ErrorCode::device_lost).
/// This process cannot use the device again: start a new one.
struct DeviceLost : Error {
    using Error::Error;
};
/// Thrown for other failures of the driver, a library or the operating system (ErrorCode::native).
/// native_code() and native_name() identify the failure.
struct NativeError : Error {
    using Error::Error;
};
/// Thrown if a rank of a Communicator has ended or aborted, or has not joined or not taken part
/// within CommunicatorOptions::timeout (ErrorCode::rank_lost). The message names the ranks, unless
/// NCCL has not connected those that joined. The other ranks can continue only with a new
/// communicator.
struct RankLost : Error {
    using Error::Error;
};
/// Thrown in a child of fork() for an object of the parent, and for CUDA if the parent has used it
/// (ErrorCode::forked). The child may make new objects of CPU devices.
struct ForkedError : Error {
    using Error::Error;
};
/// Thrown if a program or PTX does not compile (ErrorCode::compile). The message holds the
/// compiler's log.
struct CompileError : Error {
    using Error::Error;
};

/// Throws the class that corresponds to info.code.
[[noreturn]] void throw_error(ErrorInfo info);

/// Receives errors that cannot be thrown:
/// - errors in destructors and on leaving a scope;
/// - failures of work that no call has reported. The hook receives them when their stream, all
///   streams that waited for the work and all events recorded after it have been destroyed.
///
/// Called on the thread where the error occurs, possibly a worker thread. The hook must not wait
/// for work (UsageError where heddle detects it). Exceptions that it throws are ignored. Several
/// threads may call it at once.
///
///     set_report_hook([](const Error& error) { log(error.what()); });
using ReportHook = std::function<void(const Error&)>;

/// Sets the hook and returns the previous one. An empty hook, the default, writes to standard
/// error. Thread-safe.
ReportHook set_report_hook(ReportHook hook);

namespace detail {
/// Rethrows the exception being handled. Replaces std::bad_alloc and std::length_error by an
/// OutOfMemory that names `call`. Call in a catch block.
[[noreturn]] void rethrow_as_error(const char* call, const SourceLocation& where);
}  // namespace detail

}  // namespace heddle
