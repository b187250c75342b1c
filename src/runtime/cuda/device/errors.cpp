#include "cuda/device/errors.hpp"

#include <atomic>

#include "core/base/report.hpp"
#include "core/failure/failure.hpp"
#include "core/stream/registry.hpp"
#include "cuda/device/driver_log.hpp"
#include "cuda/device/gpu.hpp"
#include "cuda/device/versions.hpp"

namespace heddle::detail::cu {

bool is_sticky(cudaError_t code) noexcept {
    switch (code) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
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
    case cudaErrorExternalDevice: return true;
    default: return code == error_contained || code == error_tensor_memory_leak;
    }
}

ErrorSite with_native(const ErrorSite& site, cudaError_t code) noexcept {
    return site.with_native(static_cast<int>(code), cudaGetErrorName(code));
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

/// Returns the site of an error. `device` is -1 if the error concerns no device, and `stream` is
/// null if it concerns no stream.
ErrorSite site_of(const char* call, cudaError_t code, int device, const StreamRecord* stream,
                  const SourceLocation& where) noexcept {
    if (stream != nullptr) return with_native({call, where, *stream}, code);
    if (device >= 0) return with_native({call, where, gpu_device(device)}, code);
    return with_native({call, where}, code);
}

ErrorInfo failed_call(cudaError_t code, const char* call, int device, const StreamRecord* stream,
                      const SourceLocation& where) {
    return error_info(code_of(code), site_of(call, code, device, stream, where), "{} failed: {}",
                      call, failure_text(code));
}

/// Returns the names of streams that may have had pending work when the device was lost. Lists at
/// most 8 names, and counts the other streams.
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
            // Locks, because the name changes under this lock when another stream reuses the
            // record.
            const std::lock_guard life(s.life);
            if (!s.has(stream_flag::dead)) name = s.display_name();
        }
        if (name.empty()) --count;
        else names += (names.empty() ? "" : ", ") + name;
    });
    if (count > 8) names += formatted(" and {} more", count - 8);
    return names;
}

Failure make_loss(int device, cudaError_t code, const char* call, StreamRecord* stream,
                  const SourceLocation& where) {
    const std::string names = unfinished_streams(device);
    return make_failure(error_info(
        ErrorCode::device_lost, site_of(call, code, device, stream, where),
        "{} is lost ({}), and cannot be used any more in this process: start a new process. {}{}.",
        gpu_device(device), failure_text(code),
        names.empty() ? "No stream had unfinished work" : "Unfinished work was on: ", names));
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
            // Work that is known to be complete stays valid: a thread or stream that waits only for
            // such work receives no failure.
            s.poison(failure, s.seen_complete.load(std::memory_order_relaxed) + 1);
        });
    } catch (...) {
        // Out of memory: the failure may be null, and some streams may not be poisoned. But every
        // call on the device still fails.
    }
    return failure;  // the event poller passes it to pending notifications
}

Failure failure_from(cudaError_t code, const char* call, int device) noexcept {
    try {
        return make_failure(failed_call(code, call, device, nullptr, {}));
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
    throw_error(failed_call(code, call, device, stream, where));
}

void note_failure(cudaError_t code, const char* call, int device) noexcept {
    if (code == cudaSuccess || is_unloading(code) || is_forked()) return;
    cudaGetLastError();
    if (const Gpu* g = gpu_if_used(device); g != nullptr && g->lost.load(std::memory_order_acquire))
        return;  // already reported
    try {
        const SourceLocation nowhere;
        if (is_sticky(code)) {
            if (Failure failure = mark_lost(device, code, call, nullptr, nowhere)) report(*failure);
            return;
        }
        report(failed_call(code, call, device, nullptr, nowhere));
    } catch (...) {
        // No memory for the report.
    }
}

void throw_invalid_capture(const StreamRecord& stream, const char* call,
                           const SourceLocation& where) {
    usage_error({call, where, stream},
                "the stream's capture is invalid: end the capture, then begin a new one");
}

void throw_capture_of_host_memory(const StreamRecord& stream, const char* call,
                                  const SourceLocation& where) {
    usage_error({call, where, stream},
                "the stream is capturing, and graphs copy and fill only device and pinned memory: "
                "use heddle::pinned() for the host side");
}

void throw_closed(const StreamState& stream) {
    usage_error({"native stream", {}, stream.device},
                "the stream was destroyed while in use: keep it until its last call returns");
}

Failure failure_until(StreamRecord& stream, std::uint64_t submissions) noexcept {
    if (!stream.has(stream_flag::poisoned | stream_flag::fallible)) return nullptr;
    return stream.failure_up_to(submissions);
}

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

void refuse_forked(const char* call, const SourceLocation& where) {
    if (!is_forked()) [[likely]]
        return;
    coded_error(ErrorCode::forked, {call, where},
                "the parent process used CUDA before fork(), so CUDA does not work in this "
                "process: call fork() before using CUDA, or start a new program");
}

void set_forked() noexcept { forked.store(true, std::memory_order_relaxed); }

}  // namespace heddle::detail::cu
