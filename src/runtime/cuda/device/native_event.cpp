#include "cuda/device/native_event.hpp"

#include "cuda/device/context.hpp"

namespace heddle::detail::cu {

cudaEvent_t take_event(Gpu& g, const SourceLocation& where) {
    if (cudaEvent_t const free = g.events.take()) return free;
    InContext in(g);
    cudaEvent_t event = nullptr;
    check(api.cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags",
          g.index, where);
    return event;
}

void give_event(Gpu& g, cudaEvent_t event) noexcept { g.events.give(event); }

cudaEvent_t make_event(Gpu& g, const EventOptions& options, const SourceLocation& where) {
    unsigned flags = options.timing ? cudaEventDefault : cudaEventDisableTiming;
    if (options.blocking) flags |= cudaEventBlockingSync;
    if (options.interprocess) flags |= cudaEventInterprocess;
    RelaxedCapture relaxed;
    InContext in(g);
    cudaEvent_t native = nullptr;
    check(api.cudaEventCreateWithFlags(&native, flags), "cudaEventCreateWithFlags", g.index, where);
    return native;
}

void destroy_event(Gpu& g, cudaEvent_t event) noexcept {
    InContext in(g);
    // Waits that were already enqueued stay valid.
    note_failure(api.cudaEventDestroy(event), "cudaEventDestroy", g.index);
}

bool is_reached(Gpu& g, cudaEvent_t event) noexcept {
    if (g.lost.load(std::memory_order_acquire)) return true;
    const CUresult code = api.cuEventQuery(event);
    if (code == CUDA_ERROR_NOT_READY) return false;
    note_failure(code, "cuEventQuery", g.index);
    // After other errors, the work before the event may still be pending, so the caller queries
    // again.
    return code == CUDA_SUCCESS || is_sticky(as_runtime(code)) || is_unloading(as_runtime(code));
}

std::uint64_t capture_of(Gpu& g, cudaStream_t stream) noexcept {
    OnStream on(g, stream);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    const CUresult code =
        api.cuStreamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
    // `stream` is the legacy stream, and a blocking stream is being captured. The legacy stream
    // cannot be used, so it counts as capturing.
    if (code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return UINT64_MAX;
    if (code != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE) return 0;
    // An invalid capture has no id, but the stream is capturing until the capture is ended.
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id != 0 ? id : UINT64_MAX;
}

}  // namespace heddle::detail::cu
