// From the device to the host: completions that happen when an event is reached.
//
// A thread looks at the events (watcher.hpp). Callbacks of the driver would need no thread, but cost more than ten times as
// much latency, and the call that gives them blocks once some dozens of streams are pending: docs/adr/0205.
#include <memory>

#include "core/registry.hpp"
#include "cuda/backend.hpp"
#include "cuda/fence.hpp"
#include "cuda/watcher.hpp"

namespace heddle::detail::cu {

namespace {

bool is_plain(const EventState& event) noexcept { return event.options == EventOptions{}; }

/// An event that others may record, or that is not ours to exchange, must not be looked at later: its record may be another by
/// then. A stream of heddle's own waits for the record meant, and an event of heddle's own follows there.
void stand_in(Notification& note, EventState& event, const SourceLocation& where) {
    Gpu& g = *note.gpu;
    {
        std::lock_guard lock(g.notify_mutex);
        note.notifier = g.free_notifiers;
        if (note.notifier != nullptr) g.free_notifiers = note.notifier->next_free;
    }
    if (note.notifier == nullptr) {
        InContext in(g);
        auto fresh = std::make_unique<Notifier>();
        check(cudaStreamCreateWithPriority(&fresh->stream, cudaStreamNonBlocking, g.priorities.greatest),
              "cudaStreamCreateWithPriority", g.index, where);
        note.notifier = fresh.release();
    }
    note.native = take_event(g, where);
    CUresult code = wait_on(g, note.notifier->stream, native_of(event));
    if (code == CUDA_SUCCESS) code = record_on(g, note.native, note.notifier->stream);
    if (code == CUDA_SUCCESS) return;
    give_event(g, note.native);
    {
        std::lock_guard lock(g.notify_mutex);
        note.notifier->next_free = std::exchange(g.free_notifiers, note.notifier);
    }
    check(code, "cuStreamWaitEvent", g.index, where);
}

/// Throws where others capture the stream natively: what it was given before cannot be waited for then.
void refuse_native_capture(const StreamUse& use, const char* call, const SourceLocation& where) {
    StreamRecord& stream = *use.stream;
    if (!stream.has(stream_flag::capturing | stream_flag::handed_out)) return;
    {
        std::lock_guard life(stream.life);
        if (!use.is_same() || stream.native == nullptr || capture_of(stream) == 0) return;
    }
    throw_usage("this memory was used on a stream that is being captured natively, and what it was given before cannot be "
                "waited for meanwhile: end that capture first, or wait for the stream before it begins",
                call, &stream, where);
}

}  // namespace

void CudaBackend::signal(EventState& event, CompletionRef done, const SourceLocation& where) {
    if (!event.recorded) return done->complete();
    if (event.capture_id != 0)
        throw_usage("the event was recorded in a capture: a CPU stream cannot wait for a point of a graph",
                    "wait_event", nullptr, where);
    Gpu& g = gpu(event.device.index(), where);
    RelaxedCapture relaxed;
    const CUresult code = driver.event_query(native_of(event));
    if (code == CUDA_SUCCESS) return done->complete(failure_of(event));
    if (code != CUDA_ERROR_NOT_READY) check(code, "cuEventQuery", g.index, where);
    if (watcher().join(event, done)) return;

    auto note = std::make_unique<Notification>();
    note->done.push_back(std::move(done));
    note->gpu = &g;
    note->stream_id = event.stream_id;
    note->submissions = event.submissions;
    if (event.owns_native && !event.handed_out && !event.options.interprocess) {
        note->native = native_of(event);
        note->event = &event;
        note->plain = is_plain(event);
    } else {
        stand_in(*note, event, where);
    }
    if (StreamRecord* source = event.stream) {
        // Pinned, it cannot become another stream before its failure has been asked for.
        std::lock_guard life(source->life);
        if (source->id.load(std::memory_order_acquire) == event.stream_id) {
            source->pins.fetch_add(1, std::memory_order_relaxed);
            note->source = source;
        }
    }
    watcher().watch(note.release());
}

void detach_notification(EventState& event, const SourceLocation& where) {
    if (!watcher().detach(event)) return;
    event.native = nullptr;  // the notification keeps it
    if (is_plain(event)) event.native = take_event(gpu(event.device.index(), where), where);
    else the_backend().open_event(event, where);
}

void CudaBackend::fence(const StreamUse& use, CompletionRef done) noexcept {
    StreamRecord& stream = *use.stream;
    if (is_forked()) return done->complete();
    Gpu& g = gpu_of(stream);
    if (g.lost.load(std::memory_order_acquire)) return done->complete();
    try {
        if (in_callback) return defer(g, [this, use, done] { fence(use, done); });
        const SourceLocation nowhere;
        RelaxedCapture relaxed;
        auto note = std::make_unique<Notification>();
        note->done.push_back(done);
        note->gpu = &g;
        note->native = take_event(g, nowhere);
        CUresult code = CUDA_SUCCESS;
        bool pending = false;
        {
            std::lock_guard life(stream.life);
            // Work that is being captured does not run, so there is nothing of it to wait for.
            if (!use.is_same()) {
                // Another stream by now: all that this one was given has ended.
            } else if (stream.native != nullptr && capture_of(stream) == 0) {
                code = record_on(g, note->native, native_of(stream));
                pending = code == CUDA_SUCCESS;
            } else if (auto* final_event = static_cast<cudaEvent_t>(stream.final_event)) {
                give_event(g, std::exchange(note->native, final_event));
                note->owns = false;
                stream.pins.fetch_add(1, std::memory_order_relaxed);  // it keeps its final event until then
                note->source = &stream;
                pending = true;
            }
        }
        if (pending) return watcher().watch(note.release());
        give_event(g, note->native);
        // Nothing to wait for; or the device is lost, and with it whoever could still touch the memory.
        note_failure(code, "cuEventRecord", g.index);
        if (code == CUDA_SUCCESS || is_sticky(as_runtime(code))) done->complete();
    } catch (...) {
        report(std::current_exception());  // the memory stays: nobody knows whether it is in use
    }
}

void CudaBackend::wait_use(StreamRecord& waiter, const StreamUse& use, const SourceLocation& where) {
    refuse_native_capture(use, "wait", where);
    RelaxedCapture relaxed;
    if (wait_natively(gpu_of(waiter), native_of(waiter), use)) count_submission(waiter);
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
    if (is_open && code == CUDA_SUCCESS) code = driver.event_synchronize(event);
    give_event(g, event);
    if (is_sticky(as_runtime(code)))
        mark_lost(g.index, as_runtime(code), "cuEventSynchronize", nullptr, where);
    else check(code, "cuEventSynchronize", g.index, where);
    if (is_open) return;
    const CompletionRef done = make_completion();  // the event behind its last work may become another's
    fence(use, done);
    block_until(*done);
}

}  // namespace heddle::detail::cu
