// Events, and waits between streams.
#include "cuda/stream/event.hpp"

#include "core/base/report.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/host_sync/event_poller.hpp"
#include "cuda/host_sync/signal.hpp"

namespace heddle::detail::cu {

// Two threads may use the stream's event at the same time. The later record may then serve the
// waits of both threads: one of them may wait for more work than necessary, but never for less. A
// record made in a capture does no harm, because each call records the event immediately before its
// wait.
cudaEvent_t cached_event(StreamRecord& stream, const SourceLocation& where) {
    std::atomic_ref<void*> slot(stream.cached_event);
    if (void* event = slot.load(std::memory_order_acquire)) [[likely]]
        return static_cast<cudaEvent_t>(event);
    Gpu& g = gpu_of(stream);
    cudaEvent_t fresh = take_event(g, where);
    void* expected = nullptr;
    if (slot.compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) return fresh;
    give_event(g, fresh);  // another thread was faster
    return static_cast<cudaEvent_t>(expected);
}

namespace {

/// Checks the result of a query of an event, or of a wait for it. Returns false if the event's
/// device is lost. Throws for other failures.
bool check_event(CUresult code, const char* call, EventState& event, const SourceLocation& where) {
    if (code == CUDA_SUCCESS) {
        StreamRecord* stream = event.stream;
        if (stream != nullptr && stream->device == event.device &&
            stream->id.load(std::memory_order_relaxed) == event.stream_id)
            see_complete(*stream, event.submissions);
        return true;
    }
    const int device = event.device.index();
    if (!is_sticky(as_runtime(code))) check(code, call, device, where);
    mark_lost(device, as_runtime(code), call, nullptr, where);
    return false;
}

}  // namespace

void enqueue_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where) {
    cudaEvent_t event = cached_event(other, where);
    const std::uint64_t submitted = other.submissions.load(std::memory_order_acquire);
    check(record_on(gpu_of(other), event, native_of(other)), "cuEventRecord", other, where);
    if (has_watch()) [[unlikely]]
        note_mark(other, submitted);
    check(wait_on(gpu_of(waiter), native_of(waiter), event), "cuStreamWaitEvent", waiter, where);
}

void CudaBackend::wait_stream(StreamRecord& waiter, StreamRecord& other,
                              const SourceLocation& where) {
    Submission submission(waiter, where);
    enqueue_wait(waiter, other, where);
    submission.count();
}

void CudaBackend::open_event(EventState& event, const SourceLocation& where) {
    event.native = make_event(gpu(event.device.index(), where), event.options, where);
    event.owns_native = true;
}

void CudaBackend::close_event(EventState& event) noexcept {
    if (detach_from_event_poller(event)) event.native = nullptr;  // the notification destroys it
    cudaEvent_t native = native_of(event);
    event.native = nullptr;
    // Code outside heddle owns wrapped events. Imported events must be closed here.
    if (native == nullptr || is_forked() || !(event.owns_native || event.options.interprocess))
        return;
    Gpu* g = gpu_if_used(event.device.index());
    if (g == nullptr) return;
    if (!in_callback) return destroy_event(*g, native);
    try {
        defer(*g, [g, native] { destroy_event(*g, native); });
    } catch (...) {
        report(std::current_exception());
    }
}

// Does nothing, because the native event's old record is never queried.
void CudaBackend::forget_record(EventState&) noexcept {}

void CudaBackend::record(EventState& event, StreamRecord& stream, const SourceLocation& where) {
    if (event.watched.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
        detach_notification(event, where);
    check(record_on(gpu_of(stream), native_of(event), native_of(stream)), "cuEventRecord", stream,
          where);
}

void CudaBackend::wait(StreamRecord& waiter, EventState& event, const SourceLocation& where) {
    Submission submission(waiter, where);
    check(wait_on(gpu_of(waiter), native_of(waiter), native_of(event)), "cuStreamWaitEvent", waiter,
          where);
    submission.count();
}

bool CudaBackend::is_complete(EventState& event, const SourceLocation& where) {
    refuse_forked("is_complete", where);
    if (!event.recorded) return true;
    RelaxedCapture relaxed;
    const CUresult code = api.cuEventQuery(native_of(event));
    if (code == CUDA_ERROR_NOT_READY) return false;
    check_event(code, "cuEventQuery", event, where);
    run_cleanups(gpu_of(event));
    return true;
}

void CudaBackend::synchronize(EventState& event, const SourceLocation& where) {
    refuse_forked("synchronize", where);
    if (!event.recorded) return;
    CUresult code;
    {
        RelaxedCapture relaxed;
        code = api.cuEventSynchronize(native_of(event));
    }
    check_event(code, "cuEventSynchronize", event, where);
    run_cleanups(gpu_of(event));
}

double CudaBackend::elapsed_ms(EventState& start, EventState& end, const SourceLocation& where) {
    refuse_forked("elapsed", where);
    RelaxedCapture relaxed;
    for (EventState* event : {&start, &end}) {
        if (!check_event(api.cuEventSynchronize(native_of(*event)), "cuEventSynchronize", *event,
                         where))
            gpu(event->device.index(), where);  // throws DeviceLost
    }
    InContext in(gpu(start.device.index(), where));
    float milliseconds = 0;
    check(api.cudaEventElapsedTime(&milliseconds, native_of(start), native_of(end)),
          "cudaEventElapsedTime", start.device.index(), where);
    return static_cast<double>(milliseconds);
}

Failure CudaBackend::failure_of(EventState& event) {
    if (Gpu* g = gpu_if_used(event.device.index());
        g != nullptr && g->lost.load(std::memory_order_acquire))
        return g->failure;
    return event.outcome != nullptr ? event.outcome->failure_up_to(event.submissions) : nullptr;
}

}  // namespace heddle::detail::cu
