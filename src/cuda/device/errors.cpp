#include "cuda/device/errors.hpp"

#include <atomic>

#include "core/base/failure.hpp"
#include "core/base/report.hpp"
#include "core/stream/registry.hpp"
#include "core/stream/stream_errors.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

bool is_sticky(cudaError_t code) noexcept {
    switch (code) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorExternalDevice: return true;
    default: return false;
    }
}

namespace {

ErrorCode code_of(cudaError_t code) noexcept {
    switch (code) {
    case cudaErrorMemoryAllocation: return ErrorCode::out_of_memory;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice: return ErrorCode::no_device;
    case cudaErrorNotSupported:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorPeerAccessUnsupported: return ErrorCode::unsupported;
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorCapturedEvent:
    case cudaErrorStreamCaptureWrongThread:
    case cudaErrorNotPermitted: return ErrorCode::usage;
    default: return ErrorCode::native;
    }
}

ErrorInfo native_error(ErrorCode code, cudaError_t native, const char* call, int device,
                       StreamRecord* stream, std::string message, const SourceLocation& where) {
    ErrorInfo info;
    if (stream != nullptr) {
        info = stream_error(code, *stream, std::move(message), call, where);
    } else {
        info.code = code;
        info.message = std::move(message);
        info.call = call;
        info.where = where;
        if (device >= 0) info.device = Access::device(DeviceKind::cuda, device);
    }
    info.native_code = static_cast<int>(native);
    info.native_name = cudaGetErrorName(native);
    return info;
}

/// Returns the names of streams that may have had pending work when the device was lost: those not
/// known to be complete. Names at most 8 and counts the rest.
std::string unfinished_streams(int device) {
    std::string names;
    int count = 0;
    for_each_stream([&](StreamRecord& s) {
        if (!s.device.is_cuda() || s.device.index() != device || s.has(stream_flag::dead)) return;
        if (s.submissions.load(std::memory_order_acquire) <=
            s.seen_complete.load(std::memory_order_relaxed))
            return;
        if (++count > 8) return;
        std::string name;
        {
            // The name changes under this lock, when the record is reused for another stream.
            const std::lock_guard life(s.life);
            if (!s.has(stream_flag::dead)) name = s.display_name();
        }
        if (name.empty()) --count;
        else names += (names.empty() ? "" : ", ") + name;
    });
    if (count > 8) names += " and " + std::to_string(count - 8) + " more";
    return names;
}

Failure make_loss(int device, cudaError_t code, const char* call, StreamRecord* stream,
                  const SourceLocation& where) {
    const std::string names = unfinished_streams(device);
    std::string message = "cuda:" + std::to_string(device) + " is lost (" +
                          cudaGetErrorString(code) +
                          "): nothing runs on it any more in this process. ";
    message +=
        names.empty() ? "No stream had unfinished work." : "Unfinished work was on: " + names + ".";
    return make_failure(native_error(ErrorCode::device_lost, code, call, device, stream,
                                     std::move(message), where));
}

std::atomic<bool> forked{false};

}  // namespace

Failure mark_lost(int device, cudaError_t code, const char* call, StreamRecord* stream,
                  const SourceLocation& where) noexcept {
    Gpu* g = gpu_if_used(device);
    Failure failure;
    try {
        if (g == nullptr) return make_loss(device, code, call, stream, where);
        {
            std::lock_guard lock(g->lost_mutex);
            if (g->failure != nullptr) return g->failure;
            failure = g->failure = make_loss(device, code, call, stream, where);
            g->lost.store(true, std::memory_order_release);
        }
        for_each_stream([&](StreamRecord& s) {
            if (!s.device.is_cuda() || s.device.index() != device || s.has(stream_flag::dead))
                return;
            // Work known to be complete stays good: waiters for that work alone get no failure.
            s.poison(failure, s.seen_complete.load(std::memory_order_relaxed) + 1);
        });
    } catch (...) {
        // No memory. Even without a failure, or with some streams not poisoned, every call on the
        // device still fails.
    }
    return failure;  // the watcher passes it to pending notifications
}

Failure failure_from(cudaError_t code, const char* call, int device) noexcept {
    try {
        return make_failure(native_error(code_of(code), code, call, device, nullptr,
                                         std::string(call) + " failed: " + cudaGetErrorString(code),
                                         {}));
    } catch (...) {
        return nullptr;
    }
}

void fail(cudaError_t code, const char* call, int device, StreamRecord* stream,
          const SourceLocation& where) {
    cudaGetLastError();  // clears the error, which is thrown below
    refuse_forked(call, where);
    if (is_sticky(code) && device >= 0) {
        if (Failure failure = mark_lost(device, code, call, stream, where)) throw_error(*failure);
    }
    throw_error(native_error(code_of(code), code, call, device, stream,
                             std::string(call) + " failed: " + cudaGetErrorString(code), where));
}

void note_failure(cudaError_t code, const char* call, int device) noexcept {
    if (code == cudaSuccess || is_unloading(code) || is_forked()) return;
    cudaGetLastError();
    if (const Gpu* g = gpu_if_used(device); g != nullptr && g->lost.load(std::memory_order_acquire))
        return;  // reported before
    try {
        const SourceLocation nowhere;
        if (is_sticky(code)) {
            if (Failure failure = mark_lost(device, code, call, nullptr, nowhere))
                report(Error(*failure));
            return;
        }
        report(Error(native_error(code_of(code), code, call, device, nullptr,
                                  std::string(call) + " failed: " + cudaGetErrorString(code),
                                  nowhere)));
    } catch (...) {
        // no memory for the report
    }
}

void throw_usage(std::string message, const char* call, StreamRecord* stream,
                 const SourceLocation& where) {
    if (stream != nullptr)
        throw_error(stream_error(ErrorCode::usage, *stream, std::move(message), call, where));
    throw_coded(ErrorCode::usage, std::move(message), call, -1, where);
}

void throw_closed(const StreamState& stream) {
    throw_coded(
        ErrorCode::usage,
        "the stream was destroyed while it was being used: keep it until all who use it are done",
        "native stream", stream.device.index(), {});
}

void throw_coded(ErrorCode code, std::string message, const char* call, int device,
                 const SourceLocation& where, cudaError_t native) {
    ErrorInfo info;
    info.code = code;
    info.message = std::move(message);
    info.call = call;
    info.where = where;
    if (device >= 0) info.device = Access::device(DeviceKind::cuda, device);
    if (native != cudaSuccess) {
        info.native_code = static_cast<int>(native);
        info.native_name = cudaGetErrorName(native);
    }
    throw_error(std::move(info));
}

Failure failure_until(StreamRecord& stream, std::uint64_t submissions) noexcept {
    if (!stream.has(stream_flag::poisoned | stream_flag::fallible)) return nullptr;
    return stream.failure_up_to(submissions);
}

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

void refuse_forked(const char* call, const SourceLocation& where) {
    if (!is_forked()) [[likely]]
        return;
    throw_coded(ErrorCode::forked,
                "this process is the child of a fork() of one that used CUDA, and CUDA does not "
                "work in it: "
                "fork before "
                "using CUDA, or start a new program",
                call, -1, where);
}

void set_forked() noexcept { forked.store(true, std::memory_order_relaxed); }

}  // namespace heddle::detail::cu
