// Native events, and the captures of native streams.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "cuda/device/context.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Acquire and release events without timing, for internal use. An event may be released as soon as
/// the wait for its record has been enqueued: a later record does not affect that wait.
cudaEvent_t take_event(Gpu& g, const SourceLocation& where);
void give_event(Gpu& g, cudaEvent_t event) noexcept;

/// Create and destroy events with the user's options.
cudaEvent_t make_event(Gpu& g, const EventOptions& options, const SourceLocation& where);
void destroy_event(Gpu& g, cudaEvent_t event) noexcept;

/// Returns whether an internal event has completed, or the device is lost. Call with a
/// RelaxedCapture in scope.
bool is_reached(Gpu& g, cudaEvent_t event) noexcept;

/// Record an event on a stream of `g`, and make a stream of `g` wait for an event, through the
/// driver. A null stream is refused with CUDA_ERROR_INVALID_HANDLE.
inline CUresult record_on(Gpu& g, cudaEvent_t event, cudaStream_t stream) noexcept {
    if (reinterpret_cast<std::uintptr_t>(stream) > 2) [[likely]]
        return api.cuEventRecord(event, stream);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    InContext in(g);
    return api.cuEventRecord(event, stream);
}
inline CUresult wait_on(Gpu& g, cudaStream_t stream, cudaEvent_t event) noexcept {
    if (reinterpret_cast<std::uintptr_t>(stream) > 2) [[likely]]
        return api.cuStreamWaitEvent(stream, event, 0);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    InContext in(g);
    return api.cuStreamWaitEvent(stream, event, 0);
}

/// Returns the id of the capture that a native stream takes part in, or 0. Returns UINT64_MAX if
/// the capture is invalid, or if a capture on another stream makes this stream unusable.
std::uint64_t capture_of(Gpu& g, cudaStream_t stream) noexcept;
/// Returns the id of the capture of a heddle stream, as above. Queries the driver only if the
/// stream may be capturing.
inline std::uint64_t capture_of(StreamRecord& stream) noexcept {
    if (!stream.has(stream_flag::capturing | stream_flag::unseen)) [[likely]]
        return 0;
    const auto native = static_cast<cudaStream_t>(stream.native);
    return native != nullptr ? capture_of(gpu_of(stream), native) : 0;
}

}  // namespace heddle::detail::cu
