// From native codes to heddle's errors; and what is done when a device is lost.
#pragma once

#include <string>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "core/records.hpp"
#include <heddle/error.hpp>

namespace heddle::detail::cu {

/// CUDA's errors after which nothing runs on the device any more in this process.
bool is_sticky(cudaError_t code) noexcept;

/// What a driver that is being unloaded answers: at exit, where nothing needs to be given back any more.
inline bool is_unloading(cudaError_t code) noexcept {
    return code == cudaErrorCudartUnloading || code == cudaErrorContextIsDestroyed;
}

/// Throws what `code` means. Sticky codes mark the device lost first.
[[noreturn]] void fail(cudaError_t code, const char* call, int device, StreamRecord* stream,
                       const SourceLocation& where);

/// The one check of native calls.
inline void check(cudaError_t code, const char* call, int device, const SourceLocation& where) {
    if (code != cudaSuccess) [[unlikely]]
        fail(code, call, device, nullptr, where);
}
inline void check(cudaError_t code, const char* call, StreamRecord& stream, const SourceLocation& where) {
    if (code != cudaSuccess) [[unlikely]]
        fail(code, call, stream.device.index(), &stream, where);
}
inline void check(CUresult code, const char* call, int device, const SourceLocation& where) {
    check(static_cast<cudaError_t>(code), call, device, where);
}
inline void check(CUresult code, const char* call, StreamRecord& stream, const SourceLocation& where) {
    check(static_cast<cudaError_t>(code), call, stream, where);
}

/// For destructors and housekeeping: marks lost devices, reports other failures, throws nothing.
void note_failure(cudaError_t code, const char* call, int device) noexcept;
inline void note_failure(CUresult code, const char* call, int device) noexcept {
    note_failure(static_cast<cudaError_t>(code), call, device);
}

/// The first sticky error of a device marks it lost: its streams are poisoned and what waits for it on the
/// host is woken. Later calls change nothing. Returns the failure that was first. Never throws.
Failure mark_lost(int device, cudaError_t code, const char* call, StreamRecord* stream,
                  const SourceLocation& where) noexcept;

/// Work for a stream that has been closed, perhaps just now by another thread.
[[noreturn]] void throw_closed(const StreamState& stream);

/// An error of this backend without a native code.
[[noreturn]] void throw_usage(std::string message, const char* call, StreamRecord* stream,
                              const SourceLocation& where);
[[noreturn]] void throw_coded(ErrorCode code, std::string message, const char* call, int device,
                              const SourceLocation& where, cudaError_t native = cudaSuccess);

/// What a native code means, for those who wait; null when there is no memory to say it.
Failure failure_from(cudaError_t code, const char* call, int device) noexcept;

/// The stream's failure if its first `submissions` pieces of work are concerned; null if not.
Failure failure_until(StreamRecord& stream, std::uint64_t submissions) noexcept;

/// In the child of a fork nothing of CUDA may be touched.
bool is_forked() noexcept;
void set_forked() noexcept;
void refuse_forked(const char* call, const SourceLocation& where);

}  // namespace heddle::detail::cu
