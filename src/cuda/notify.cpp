// From the device to the host: completions that happen when an event is reached.
//
// Each notification has a stream of heddle's own to itself for as long as it is pending: it waits there for
// the event and then calls back. So the source stream is not held up, and notifications do not wait for each
// other.
#include <memory>

#include "core/registry.hpp"
#include "cuda/backend.hpp"

namespace heddle::detail::cu {

struct Notification {
    CompletionRef done;
    Gpu* gpu = nullptr;
    Notifier* notifier = nullptr;
    StreamRecord* source = nullptr;  ///< pinned; whose failure `done` gets. Null: nobody's
    std::uint64_t stream_id = 0;
    std::uint64_t submissions = 0;
    cudaEvent_t own_event = nullptr;  ///< from the device's pool
    bool told = false;                ///< `done` has happened: because the device was lost, perhaps
    Notification* previous = nullptr;
    Notification* next = nullptr;
};

namespace {

/// How the device calls back. A stream callback is also called, with the error, when the device is lost
/// (CUDA's documentation of cudaStreamAddCallback); a host function is not, but costs less to give.
enum class CallBack { stream_callback, host_function };
constexpr CallBack call_back = CallBack::stream_callback;

Notifier* lease(Gpu& g, const SourceLocation& where) {
    {
        std::lock_guard lock(g.notify_mutex);
        if (Notifier* free = g.free_notifiers) {
            g.free_notifiers = free->next_free;
            return free;
        }
    }
    RelaxedCapture relaxed;
    InContext in(g);
    auto fresh = std::make_unique<Notifier>();
    check(cudaStreamCreateWithPriority(&fresh->stream, cudaStreamNonBlocking, g.priorities.greatest),
          "cudaStreamCreateWithPriority", g.index, where);
    return fresh.release();
}

void give_back(Gpu& g, Notifier* notifier) noexcept {
    std::lock_guard lock(g.notify_mutex);
    notifier->next_free = g.free_notifiers;
    g.free_notifiers = notifier;
}

/// Under g.notify_mutex.
void unlink(Gpu& g, Notification& note) noexcept {
    (note.previous != nullptr ? note.previous->next : g.outstanding) = note.next;
    if (note.next != nullptr) note.next->previous = note.previous;
}

void let_go(Notification& note) noexcept {
    if (note.source != nullptr) note.source->pins.fetch_sub(1, std::memory_order_release);
    give_event(*note.gpu, note.own_event);
    delete &note;
}

/// On the driver's thread: the event was reached, or the device lost.
void called_back(void* data, cudaError_t status) noexcept {
    InCallback in;
    Notification& note = *static_cast<Notification*>(data);
    Gpu& g = *note.gpu;
    Failure failure;
    if (status != cudaSuccess && !is_unloading(status))
        failure = mark_lost(g.index, status, "cudaStreamAddCallback", nullptr, {});  // tells this one as well
    else if (note.source != nullptr && note.source->id.load(std::memory_order_acquire) == note.stream_id)
        failure = failure_until(*note.source, note.submissions);
    bool told;
    {
        std::lock_guard lock(g.notify_mutex);
        told = note.told;
        unlink(g, note);
        note.notifier->next_free = g.free_notifiers;
        g.free_notifiers = note.notifier;
    }
    if (!told) note.done->complete(std::move(failure));
    let_go(note);
}

/// Makes the notification's stream, which waits for its event already, call back.
void arm(Notification& note, const SourceLocation& where) {
    Gpu& g = *note.gpu;
    {
        std::lock_guard lock(g.notify_mutex);
        note.next = g.outstanding;
        if (g.outstanding != nullptr) g.outstanding->previous = &note;
        g.outstanding = &note;
    }
    cudaError_t code;
    const char* call;
    {
        OnStream on(g, note.notifier->stream);
        if constexpr (call_back == CallBack::stream_callback) {
            call = "cudaStreamAddCallback";
            code = cudaStreamAddCallback(
                note.notifier->stream,
                [](cudaStream_t, cudaError_t status, void* data) { called_back(data, status); }, &note, 0);
        } else {
            call = "cudaLaunchHostFunc";
            code = cudaLaunchHostFunc(
                note.notifier->stream, [](void* data) { called_back(data, cudaSuccess); }, &note);
        }
    }
    if (code == cudaSuccess) return;  // `note` may be gone already
    bool told;
    {
        std::lock_guard lock(g.notify_mutex);
        told = note.told;
        unlink(g, note);
    }
    give_back(g, note.notifier);
    let_go(note);
    if (!told) check(code, call, g.index, where);
}

/// signal(), but throws DeviceLost.
void request(CudaBackend& backend, EventState& event, const CompletionRef& done,
             const SourceLocation& where) {
    Gpu& g = gpu(event.device.index(), where);
    RelaxedCapture relaxed;
    const CUresult code = driver.event_query(native_of(event));
    if (code == CUDA_SUCCESS) return done->complete(backend.failure_of(event));
    if (code != CUDA_ERROR_NOT_READY) check(code, "cuEventQuery", g.index, where);

    auto note = std::make_unique<Notification>();
    note->done = done;
    note->gpu = &g;
    note->stream_id = event.stream_id;
    note->submissions = event.submissions;
    note->notifier = lease(g, where);
    if (const CUresult waited = wait_on(g, note->notifier->stream, native_of(event));
        waited != CUDA_SUCCESS) {
        give_back(g, note->notifier);
        check(waited, "cuStreamWaitEvent", g.index, where);
    }
    if (StreamRecord* source = event.stream) {
        // Pinned, it cannot become another stream before its failure has been asked for.
        std::lock_guard life(source->life);
        if (source->id.load(std::memory_order_acquire) == event.stream_id) {
            source->pins.fetch_add(1, std::memory_order_relaxed);
            note->source = source;
        }
    }
    arm(*note.release(), where);
}

}  // namespace

void CudaBackend::signal(EventState& event, CompletionRef done, const SourceLocation& where) {
    if (!event.recorded) return done->complete();
    if (event.capture_id != 0)
        throw_usage("the event was recorded in a capture: a CPU stream cannot wait for a point of a graph",
                    "wait_event", nullptr, where);
    try {
        request(*this, event, done, where);
    } catch (const DeviceLost& lost) {
        // Whoever waits is told as of any other failure; the call itself is as good as it was a moment earlier.
        done->complete(std::make_shared<const ErrorInfo>(lost.info()));
    }
}

void CudaBackend::fence(StreamRecord& stream, CompletionRef done) noexcept {
    if (is_forked()) return done->complete();
    Gpu& g = gpu_of(stream);
    if (g.lost.load(std::memory_order_acquire)) return done->complete();
    try {
        if (in_callback) return defer(g, [this, &stream, done] { fence(stream, done); });
        const SourceLocation nowhere;
        RelaxedCapture relaxed;
        auto note = std::make_unique<Notification>();
        note->done = done;
        note->gpu = &g;
        note->own_event = take_event(g, nowhere);
        note->notifier = lease(g, nowhere);
        CUresult code = CUDA_SUCCESS;
        bool pending = false;
        {
            std::lock_guard life(stream.life);
            cudaEvent_t event = static_cast<cudaEvent_t>(stream.final_event);
            // Work that is being captured does not run, so there is nothing of it to wait for.
            if (stream.native != nullptr && capture_of(stream) == 0) {
                event = note->own_event;
                code = record_on(g, event, native_of(stream));
            }
            pending = event != nullptr && code == CUDA_SUCCESS;
            if (pending) code = wait_on(g, note->notifier->stream, event);
        }
        if (pending && code == CUDA_SUCCESS) return arm(*note.release(), nowhere);
        give_back(g, note->notifier);
        give_event(g, note->own_event);
        // Nothing to wait for; or the device is lost, and with it whoever could still touch the memory.
        note_failure(code, "cuStreamWaitEvent", g.index);
        if (code == CUDA_SUCCESS || is_sticky(as_runtime(code))) done->complete();
    } catch (const DeviceLost&) {
        done->complete();
    } catch (...) {
        report(std::current_exception());  // the memory stays: nobody knows whether it is in use
    }
}

void fail_outstanding(Gpu& g, const Failure& failure) noexcept {
    for (;;) {
        CompletionRef done;
        {
            std::lock_guard lock(g.notify_mutex);
            for (Notification* note = g.outstanding; note != nullptr && !done; note = note->next) {
                if (note->told) continue;
                note->told = true;
                done = note->done;
            }
        }
        if (!done) return;
        done->complete(failure);
    }
}

cudaStream_t stream_of_outstanding(const Gpu& g) noexcept {
    return g.outstanding != nullptr ? g.outstanding->notifier->stream : nullptr;
}

}  // namespace heddle::detail::cu
