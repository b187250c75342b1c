// Device to host: completions that complete when an event is reached.
//
// A thread polls the events (event_poller.hpp). Driver callbacks would need no thread, but their
// latency is more than ten times higher, and the call that adds a callback blocks once some dozens
// of streams are pending (docs/adr/0205).
#include <memory>
#include <utility>

#include "core/base/background.hpp"
#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/host_sync/event_poller.hpp"
#include "cuda/host_sync/pending_use.hpp"
#include "cuda/host_sync/signal.hpp"

namespace heddle::detail::cu {

namespace {

bool is_plain(const EventState& event) noexcept { return event.options == EventOptions{}; }

/// Sets up a notification for an event that code outside heddle may record, or that heddle must not
/// replace. Such an event may be recorded again, so it must not be polled. Instead, an internal
/// stream waits for the event's current record, and then records an internal event.
void stand_in(Notification& note, EventState& event, const SourceLocation& where) {
    Gpu& g = *note.gpu;
    note.native = take_event(g, where);
    note.notifier = g.free_notifiers.take();
    if (note.notifier == nullptr) {
        InContext in(g);
        auto fresh = std::make_unique<Notifier>();
        check(api.cudaStreamCreateWithPriority(&fresh->stream, cudaStreamNonBlocking,
                                               g.priorities.greatest),
              "cudaStreamCreateWithPriority", g.index, where);
        note.notifier = fresh.release();
    }
    check(wait_on(g, note.notifier->stream, native_of(event)), "cuStreamWaitEvent", g.index, where);
    check(record_on(g, note.native, note.notifier->stream), "cuEventRecord", g.index, where);
}

/// Pins the stream: its record is not reused before the stream's failure has been read. Call with
/// the stream's `life` locked.
void pin(Notification& note, const StreamUse& use) noexcept {
    use.stream->pins.fetch_add(1, std::memory_order_relaxed);
    note.source = use.stream;
    note.stream_id = use.id;
}

}  // namespace

void refuse_native_capture(const StreamUse& use, const char* call, const SourceLocation& where) {
    StreamRecord& stream = *use.stream;
    if (!stream.has(stream_flag::capturing | stream_flag::unseen)) return;
    {
        std::lock_guard life(stream.life);
        if (!use.is_same() || stream.native == nullptr || capture_of(stream) == 0) return;
    }
    usage_error({call, where, stream},
                "this memory was used on a stream that is being captured outside heddle, so heddle "
                "cannot wait for that use: end the capture first, or wait for the stream before "
                "the capture begins");
}

void CudaBackend::signal(EventState& event, CompletionRef done, const SourceLocation& where) {
    if (!event.recorded) return done->complete();
    if (event.capture_id != 0)
        usage_error({"wait_event", where},
                    "the event was recorded in a capture, and a stream of a CPU device cannot wait "
                    "for a point of a graph: record the event outside the capture");
    Gpu& g = gpu(event.device.index(), where);
    RelaxedCapture relaxed;
    const CUresult code = api.cuEventQuery(native_of(event));
    if (code == CUDA_SUCCESS) return done->complete(failure_of(event));
    if (code != CUDA_ERROR_NOT_READY) check(code, "cuEventQuery", g.index, where);
    if (event_poller().join(event, done)) return;

    auto note = std::make_unique<Notification>();
    note->done.push_back(std::move(done));
    note->gpu = &g;
    note->submissions = event.submissions;
    if (event.owns_native && !event.handed_out && !event.in_graph && !event.options.interprocess) {
        note->native = native_of(event);
        note->event = &event;
        note->plain = is_plain(event);
    } else {
        stand_in(*note, event, where);
    }
    if (const StreamUse source{event.stream, event.stream_id}; source.stream != nullptr) {
        std::lock_guard life(source.stream->life);
        if (source.is_same()) pin(*note, source);
    }
    event_poller().watch(std::move(note));
}

void detach_notification(EventState& event, const SourceLocation& where) {
    // Acquires the new native event first: if that throws, nothing has changed.
    Gpu& g = gpu(event.device.index(), where);
    cudaEvent_t fresh =
        is_plain(event) ? take_event(g, where) : make_event(g, event.options, where);
    if (detach_from_event_poller(event))
        event.native = fresh;  // the notification keeps the old event
    else if (is_plain(event)) give_event(g, fresh);
    else destroy_event(g, fresh);
}

void stop_watching(EventState& event, const SourceLocation& where) {
    if (event.watched.load(std::memory_order_acquire) == nullptr) return;
    const RelaxedCapture relaxed;
    Notification in_its_place;
    in_its_place.gpu = &gpu(event.device.index(), where);
    stand_in(in_its_place, event, where);
    event_poller().replace(event, in_its_place);
}

cudaEvent_t native_for_graph(EventState& event, const SourceLocation& where) {
    stop_watching(event, where);
    event.in_graph = true;
    return native_of(event);
}

namespace {

/// Completes `done` once the stream is idle. Needs no event, but may complete late, because it also
/// waits for work that was enqueued later.
void signal_by_polling(Gpu& g, const StreamUse& use, const CompletionRef& done) {
    poll_in_background([&g, use, done] {
        if (is_forked()) return true;
        const RelaxedCapture relaxed;
        StreamRecord& stream = *use.stream;
        {
            const std::lock_guard life(stream.life);
            const auto native = static_cast<cudaStream_t>(stream.native);
            const auto last = static_cast<cudaEvent_t>(stream.final_event);
            CUresult code = CUDA_SUCCESS;
            if (use.is_same() && !g.lost.load(std::memory_order_acquire)) {
                const OnStream on(g, native);
                if (native != nullptr) code = api.cuStreamQuery(native);
                else if (last != nullptr) code = api.cuEventQuery(last);
            }
            if (code != CUDA_SUCCESS && !is_sticky(as_runtime(code)) &&
                !is_unloading(as_runtime(code)))
                return false;
        }
        done->complete();
        return true;
    });
}

}  // namespace

void CudaBackend::signal_use(const StreamUse& use, CompletionRef done) {
    StreamRecord& stream = *use.stream;
    if (is_forked()) return done->complete();
    Gpu& g = gpu_of(stream);
    if (g.lost.load(std::memory_order_acquire)) return done->complete();
    if (in_callback) return defer(g, [this, use, done] { signal_use(use, done); });
    RelaxedCapture relaxed;
    CUresult code = CUDA_SUCCESS;
    try {
        auto note = std::make_unique<Notification>();
        note->done.push_back(done);
        note->gpu = &g;
        note->patient = true;
        note->native = take_event(g, {});
        bool pending = false;
        {
            std::lock_guard life(stream.life);
            const auto native = static_cast<cudaStream_t>(stream.native);
            note->submissions = stream.submissions.load(std::memory_order_acquire);
            // Captured work does not run, so no wait is needed.
            if (!use.is_same()) {
                // Another stream uses the record now, so all work of the use's stream has
                // completed.
            } else if (native != nullptr && capture_of(stream) == 0) {
                code = record_on(g, note->native, native);
                pending = code == CUDA_SUCCESS;
                if (pending) pin(*note, use);
            } else if (auto* last = static_cast<cudaEvent_t>(stream.final_event)) {
                give_event(g, note->native.exchange(last));
                note->owns = false;
                pin(*note, use);  // also keeps the stream's final event
                pending = true;
            }
        }
        if (pending) return event_poller().watch(std::move(note));
    } catch (...) {
        report(std::current_exception());
        return signal_by_polling(g, use, done);
    }
    note_failure(code, "cuEventRecord", g.index);
    // Either no wait is needed, or the device is lost, and no work can access the memory any more.
    if (code == CUDA_SUCCESS || is_sticky(as_runtime(code))) return done->complete();
    signal_by_polling(g, use, done);
}

void CudaBackend::wait_use(StreamRecord& waiter, const StreamUse& use,
                           const SourceLocation& where) {
    refuse_native_capture(use, "wait", where);
    RelaxedCapture relaxed;
    Submission submission(waiter, where);
    if (wait_natively(gpu_of(waiter), native_of(waiter), use)) submission.count();
}

void CudaBackend::synchronize_use(const StreamUse& use, const SourceLocation& where) {
    refuse_native_capture(use, "synchronize", where);
    Gpu& g = gpu_of(*use.stream);
    if (g.lost.load(std::memory_order_acquire)) return;
    RelaxedCapture relaxed;
    cudaEvent_t event = take_event(g, where);
    CUresult code = CUDA_SUCCESS;
    bool is_open = false;
    {
        std::lock_guard life(use.stream->life);
        is_open = use.is_same() && use.stream->native != nullptr;
        if (is_open) code = record_on(g, event, native_of(*use.stream));
    }
    if (is_open && code == CUDA_SUCCESS) code = api.cuEventSynchronize(event);
    give_event(g, event);
    if (is_sticky(as_runtime(code)))
        mark_lost(g.index, as_runtime(code), "cuEventSynchronize", nullptr, where);
    else check(code, "cuEventSynchronize", g.index, where);
    if (is_open) return;
    // The stream is closed, and its final event may be reused at any time, so this waits for a
    // completion instead.
    const CompletionRef done = make_completion();
    signal_use(use, done);
    block_until(*done);
}

}  // namespace heddle::detail::cu
