// From the device to the host: completions that happen when an event is reached.
//
// A thread looks at the events (watcher.hpp). Callbacks of the driver would need no thread, but cost more than ten times as
// much latency, and the call that gives them blocks once some dozens of streams are pending: docs/adr/0205.
#include <memory>
#include <utility>

#include "core/background.hpp"
#include "core/registry.hpp"
#include "cuda/backend.hpp"
#include "cuda/watcher.hpp"

namespace heddle::detail::cu {

namespace {

bool is_plain(const EventState& event) noexcept { return event.options == EventOptions{}; }

/// An event that others may record, or that is not ours to exchange, must not be looked at later: its record may be another by
/// then. A stream of heddle's own waits for the record meant, and an event of heddle's own follows there.
void stand_in(Notification& note, EventState& event, const SourceLocation& where) {
    Gpu& g = *note.gpu;
    note.native = take_event(g, where);
    {
        std::lock_guard lock(g.notify_mutex);
        note.notifier = g.free_notifiers;
        if (note.notifier != nullptr) g.free_notifiers = note.notifier->next_free;
    }
    if (note.notifier == nullptr) {
        InContext in(g);
        auto fresh = std::make_unique<Notifier>();
        check(api.cudaStreamCreateWithPriority(&fresh->stream, cudaStreamNonBlocking, g.priorities.greatest),
              "cudaStreamCreateWithPriority", g.index, where);
        note.notifier = fresh.release();
    }
    check(wait_on(g, note.notifier->stream, native_of(event)), "cuStreamWaitEvent", g.index, where);
    check(record_on(g, note.native, note.notifier->stream), "cuEventRecord", g.index, where);
}

/// Pinned, a stream cannot become another one before its failure has been asked for.
void pin(Notification& note, StreamRecord& source) noexcept {
    source.pins.fetch_add(1, std::memory_order_relaxed);
    note.source = &source;
}

}  // namespace

void CudaBackend::signal(EventState& event, CompletionRef done, const SourceLocation& where) {
    if (!event.recorded) return done->complete();
    if (event.capture_id != 0)
        throw_usage("the event was recorded in a capture: a CPU stream cannot wait for a point of a graph",
                    "wait_event", nullptr, where);
    Gpu& g = gpu(event.device.index(), where);
    RelaxedCapture relaxed;
    const CUresult code = api.cuEventQuery(native_of(event));
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
        std::lock_guard life(source->life);
        if (source->id.load(std::memory_order_acquire) == event.stream_id) pin(*note, *source);
    }
    watcher().watch(std::move(note));
}

void detach_notification(EventState& event, const SourceLocation& where) {
    // The other native event first: without one, nothing has changed.
    Gpu& g = gpu(event.device.index(), where);
    cudaEvent_t fresh = is_plain(event) ? take_event(g, where) : make_event(g, event.options, where);
    if (watcher().detach(event)) event.native = fresh;  // the notification keeps the old one
    else if (is_plain(event)) give_event(g, fresh);
    else destroy_event(g, fresh);
}

namespace {

/// Completes `done` once the stream has nothing to do: more than has to be waited for, and seen late, but no event is needed.
void fence_by_asking(Gpu& g, StreamRecord& stream, const CompletionRef& done) {
    poll_in_background([&g, &stream, done, id = stream.id.load(std::memory_order_acquire)] {
        if (is_forked()) return true;
        const RelaxedCapture relaxed;
        {
            const std::lock_guard life(stream.life);
            const auto native = static_cast<cudaStream_t>(stream.native);
            const auto last = static_cast<cudaEvent_t>(stream.final_event);
            CUresult code = CUDA_SUCCESS;
            if (stream.id.load(std::memory_order_acquire) == id && !g.lost.load(std::memory_order_acquire)) {
                const OnStream on(g, native);
                if (native != nullptr) code = api.cuStreamQuery(native);
                else if (last != nullptr) code = api.cuEventQuery(last);
            }
            if (code != CUDA_SUCCESS && !is_sticky(as_runtime(code)) && !is_unloading(as_runtime(code)))
                return false;
        }
        done->complete();
        return true;
    });
}

}  // namespace

void CudaBackend::fence(StreamRecord& stream, CompletionRef done) noexcept {
    if (is_forked()) return done->complete();
    Gpu& g = gpu_of(stream);
    if (g.lost.load(std::memory_order_acquire)) return done->complete();
    try {
        if (in_callback) return defer(g, [this, &stream, done] { fence(stream, done); });
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
                // Work that is being captured does not run, so there is nothing of it to wait for.
                if (native != nullptr && capture_of(stream) == 0) {
                    code = record_on(g, note->native, native);
                    pending = code == CUDA_SUCCESS;
                } else if (auto* last = static_cast<cudaEvent_t>(stream.final_event)) {
                    give_event(g, std::exchange(note->native, last));
                    note->owns = false;
                    pin(*note, stream);  // it keeps its final event until then
                    pending = true;
                }
            }
            if (pending) return watcher().watch(std::move(note));
        } catch (...) {
            report(std::current_exception());
            return fence_by_asking(g, stream, done);
        }
        note_failure(code, "cuEventRecord", g.index);
        // Nothing to wait for; or the device is lost, and with it whoever could still touch the memory.
        if (code == CUDA_SUCCESS || is_sticky(as_runtime(code))) return done->complete();
        fence_by_asking(g, stream, done);
    } catch (...) {
        report(std::current_exception());  // the memory stays: nobody knows whether it is in use
    }
}

}  // namespace heddle::detail::cu
