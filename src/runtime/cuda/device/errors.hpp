// Converts native codes to heddle's errors, handles the loss of a device, and refuses CUDA calls in
// the child of a fork.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "core/base/errors.hpp"
#include "core/seam/records.hpp"
#include <heddle/error.hpp>

namespace heddle::detail::cu {

/// Returns whether the device is lost after this error: it then runs no more work of this process.
bool is_sticky(cudaError_t code) noexcept;

/// Returns whether the code means that the driver is being unloaded. This happens at exit, when
/// resources need not be released.
inline bool is_unloading(cudaError_t code) noexcept {
    return code == cudaErrorCudartUnloading || code == cudaErrorContextIsDestroyed;
}

/// Returns whether the call was refused because of a native capture.
inline bool is_capture_error(cudaError_t code) noexcept {
    return code >= cudaErrorStreamCaptureUnsupported && code <= cudaErrorStreamCaptureWrongThread;
}

inline Device gpu_device(int index) noexcept { return Access::device(DeviceKind::cuda, index); }

/// Returns the site with the native error of `code` appended.
ErrorSite with_native(const ErrorSite& site, cudaError_t code) noexcept;

/// Throws the Error for `code`. If the code is sticky, first marks the device lost.
[[noreturn]] void fail(cudaError_t code, const char* call, int device, StreamRecord* stream,
                       const SourceLocation& where);

/// Throws the Error for `code` unless it means success.
inline void check(cudaError_t code, const char* call, int device, const SourceLocation& where) {
    if (code != cudaSuccess) [[unlikely]]
        fail(code, call, device, nullptr, where);
}
inline void check(cudaError_t code, const char* call, StreamRecord& stream,
                  const SourceLocation& where) {
    if (code != cudaSuccess) [[unlikely]]
        fail(code, call, stream.device.index(), &stream, where);
}
inline void check(CUresult code, const char* call, int device, const SourceLocation& where) {
    check(static_cast<cudaError_t>(code), call, device, where);
}
inline void check(CUresult code, const char* call, StreamRecord& stream,
                  const SourceLocation& where) {
    check(static_cast<cudaError_t>(code), call, stream, where);
}

/// Reports a failure instead of throwing it, for destructors and housekeeping. Marks the device
/// lost if the code is sticky. Ignores failures at exit, in a forked child, and on a device already
/// lost.
void note_failure(cudaError_t code, const char* call, int device) noexcept;
inline void note_failure(CUresult code, const char* call, int device) noexcept {
    note_failure(static_cast<cudaError_t>(code), call, device);
}

/// Marks the device lost at its first sticky error and poisons its streams. The event poller then
/// wakes the host's waiters for the device. Later calls for the device have no effect. Returns the
/// failure of the first call, or null if out of memory.
Failure mark_lost(int device, cudaError_t code, const char* call, StreamRecord* stream,
                  const SourceLocation& where) noexcept;

/// Throw UsageError for work that a capture begun outside heddle cannot record: the capture is
/// invalid, or a graph cannot use the memory.
[[noreturn]] void throw_invalid_capture(const StreamRecord& stream, const char* call,
                                        const SourceLocation& where);
[[noreturn]] void throw_capture_of_host_memory(const StreamRecord& stream, const char* call,
                                               const SourceLocation& where);
/// Throws UsageError for work on a closed stream. Another thread may have closed the stream just
/// before.
[[noreturn]] void throw_closed(const StreamState& stream);

/// Returns the failure for a native code, to be passed to waiters. Returns null if out of memory.
Failure failure_from(cudaError_t code, const char* call, int device) noexcept;

/// Returns the stream's failure if it affects one of the first `submissions` submissions, otherwise
/// null.
Failure failure_until(StreamRecord& stream, std::uint64_t submissions) noexcept;

/// Returns whether this is a child that was forked after the driver had started. No CUDA call is
/// allowed in such a child: refuse_forked() throws ForkedError there.
bool is_forked() noexcept;
void set_forked() noexcept;
void refuse_forked(const char* call, const SourceLocation& where);

}  // namespace heddle::detail::cu
