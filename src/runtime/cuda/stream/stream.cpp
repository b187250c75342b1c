// Native streams: creation, closing without losing work, and waiting.
#include <algorithm>
#include <vector>

#include "core/base/report.hpp"
#include "core/stream/registry.hpp"
#include "core/stream/usable.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/host_sync/bounds.hpp"
#include "cuda/stream/closed_stream.hpp"
#include "cuda/stream/wrapped.hpp"

namespace heddle::detail::cu {

namespace {

void refuse_capture(StreamRecord& stream, const char* call, const SourceLocation& where) {
    if (capture_of(stream) != 0) throw_capturing(stream, call, where);
}

/// Marks the device lost after a sticky error. Also poisons the stream, which may have been created
/// after the device was lost.
void handle_loss(StreamRecord& stream, CUresult code, const char* call,
                 const SourceLocation& where) {
    if (Failure failure = mark_lost(stream.device.index(), as_runtime(code), call, &stream, where))
        stream.poison(failure, stream.seen_complete.load(std::memory_order_relaxed) + 1);
}

/// Removes the native stream from its record. Sets final_event to an event after the stream's last
/// work, for later frees of memory that the stream used. Returns the native stream if it must be
/// destroyed, else null. Throws, without effect, if no event can be created.
cudaStream_t take_native(Gpu& g, StreamRecord& stream, bool captured) {
    cudaEvent_t event = nullptr;
    const bool may_have_work =
        stream.submissions.load(std::memory_order_acquire) != 0 || stream.has(stream_flag::unseen);
    if (may_have_work && !captured && !g.lost.load(std::memory_order_acquire))
        event = take_event(g, {});
    const auto native = static_cast<cudaStream_t>(stream.native);
    CUresult code = CUDA_SUCCESS;
    {
        std::lock_guard life(stream.life);
        if (event != nullptr) code = record_on(g, event, native);
        if (event != nullptr && code == CUDA_SUCCESS) stream.final_event = event;
        stream.native = nullptr;
    }
    if (code != CUDA_SUCCESS) give_event(g, event);
    note_failure(code, "cuEventRecord", g.index);
    return stream.owns_native ? native : nullptr;
}

void destroy(Gpu& g, cudaStream_t native) noexcept {
    if (native == nullptr) return;
    InContext in(g);
    // This call does not block, and pending work continues.
    note_failure(api.cudaStreamDestroy(native), "cudaStreamDestroy", g.index);
}

}  // namespace

void CudaBackend::reserve_streams(int device, std::size_t count, const SourceLocation& where) {
    Gpu& g = gpu(device, where);
    run_cleanups(g);
    RelaxedCapture relaxed;
    InContext in(g);
    // The driver keeps the resources of these streams for later ones.
    std::vector<cudaStream_t> made;
    made.reserve(count);
    cudaError_t code = cudaSuccess;
    for (std::size_t i = 0; i < count && code == cudaSuccess; ++i) {
        cudaStream_t native = nullptr;
        code = api.cudaStreamCreateWithPriority(&native, cudaStreamNonBlocking, g.priorities.least);
        if (code == cudaSuccess) made.push_back(native);
    }
    for (const cudaStream_t native : made)
        note_failure(api.cudaStreamDestroy(native), "cudaStreamDestroy", g.index);
    check(code, "cudaStreamCreateWithPriority", g.index, where);
}

void CudaBackend::open_stream(StreamRecord& stream, const SourceLocation& where) {
    Gpu& g = gpu(stream.device.index(), where);
    run_cleanups(g);
    RelaxedCapture relaxed;
    InContext in(g);
    const int priority =
        std::clamp(stream.priority.load(), g.priorities.greatest, g.priorities.least);
    stream.priority.store(priority);
    std::list<Zombie> unused(1);  // closing the stream does not allocate
    cudaStream_t native = nullptr;
    check(api.cudaStreamCreateWithPriority(&native, cudaStreamNonBlocking, priority),
          "cudaStreamCreateWithPriority", g.index, where);
    {
        // With this lock, a thread that reads the new handle also sees the record's new id.
        const std::lock_guard life(stream.life);
        stream.native = native;
    }
    {
        const std::lock_guard lock(g.cleanups_mutex);
        g.unused_zombies.splice(g.unused_zombies.end(), unused);
    }
    stream.owns_native = true;
    stream.cached_at.store(0, std::memory_order_relaxed);
    stream.seen_complete.store(stream.submissions.load(std::memory_order_relaxed),
                               std::memory_order_relaxed);
}

void CudaBackend::close_stream(StreamRecord& stream) noexcept {
    if (is_forked()) return;
    Gpu& g = gpu_of(stream);
    forget_handle(stream);
    // Makes the stream a zombie immediately, because only recycle_if_done() decides whether and how
    // the stream can be released.
    Zombie zombie{&stream, static_cast<cudaStream_t>(stream.native)};
    std::list<Zombie> own;
    if (stream.owns_native) {
        const std::lock_guard lock(g.cleanups_mutex);
        own.splice(own.end(), g.unused_zombies, g.unused_zombies.begin());
    }
    if (!in_callback) {
        RelaxedCapture relaxed;
        if (recycle_if_done(g, zombie)) return;
    }
    try {
        if (own.empty()) own.emplace_back();  // a wrapped stream
        own.front() = zombie;
        const std::lock_guard lock(g.cleanups_mutex);
        g.zombies.splice(g.zombies.end(), own);
        note_cleanups(g);
    } catch (...) {
        report(std::current_exception());  // the record leaks
    }
    run_cleanups(g);
}

bool recycle_if_done(Gpu& g, Zombie& zombie) noexcept {
    StreamRecord& stream = *zombie.stream;
    if (zombie.native != nullptr) {
        // Recording an event on a captured stream, or destroying it, would invalidate the capture.
        // So a captured stream is kept, and a later call tries again. But a wrapped stream is
        // released now, because it must not be used once its wrapper is destroyed.
        const bool captured = capture_of(stream) != 0;
        if (captured && stream.owns_native) return false;
        try {
            destroy(g, take_native(g, stream, captured));
        } catch (...) {
            if (!is_want_of_memory()) report(std::current_exception());
            return false;
        }
        zombie.native = nullptr;
        // Another stream can use the cached event now, because waits that were already enqueued
        // stay valid.
        give_event(g, static_cast<cudaEvent_t>(stream.cached_event));
        stream.cached_event = nullptr;
    }
    if (stream.pins.load(std::memory_order_acquire) != 0) return false;
    const auto last = static_cast<cudaEvent_t>(stream.final_event);
    if (last != nullptr) {
        if (!is_reached(g, last)) return false;
        std::lock_guard life(stream.life);
        stream.final_event = nullptr;
        // All waits for this event were enqueued with the lock held, so the event can be reused.
        give_event(g, last);
    }
    recycle_stream(stream);
    return true;
}

void CudaBackend::synchronize(StreamRecord& stream, const SourceLocation& where) {
    refuse_capture(stream, "synchronize", where);
    Gpu& g = gpu_of(stream);
    const std::uint64_t submitted = stream.submissions.load(std::memory_order_acquire);
    CUresult code;
    {
        RelaxedCapture relaxed;
        OnStream on(g, stream.native);
        code = api.cuStreamSynchronize(native_of(stream));
    }
    if (is_sticky(as_runtime(code))) return handle_loss(stream, code, "cuStreamSynchronize", where);
    check(code, "cuStreamSynchronize", stream, where);
    see_complete(stream, submitted);
    read_file_reports(g, &stream, where);
    run_cleanups(g);
}

bool CudaBackend::is_complete(StreamRecord& stream, const SourceLocation& where) {
    refuse_capture(stream, "is_complete", where);
    Gpu& g = gpu_of(stream);
    const std::uint64_t submitted = stream.submissions.load(std::memory_order_acquire);
    CUresult code;
    {
        RelaxedCapture relaxed;
        OnStream on(g, stream.native);
        code = api.cuStreamQuery(native_of(stream));
    }
    if (code == CUDA_ERROR_NOT_READY) return false;
    if (is_sticky(as_runtime(code))) {
        handle_loss(stream, code, "cuStreamQuery", where);
        return true;
    }
    check(code, "cuStreamQuery", stream, where);
    see_complete(stream, submitted);
    read_file_reports(g, &stream, where);
    run_cleanups(g);
    return true;
}

std::uint64_t CudaBackend::capture_id(StreamRecord& stream) {
    if (stream.native == nullptr || is_forked()) return 0;
    return capture_of(gpu_of(stream), native_of(stream));
}

Failure CudaBackend::reset_failure(StreamRecord& stream, std::uint64_t submissions,
                                   const SourceLocation& where) {
    // The failure of a host function can be cleared, because it leaves no error in CUDA. A lost
    // device cannot be recovered in this process.
    if (stream.known_failure() == nullptr) return nullptr;
    gpu(stream.device.index(), where);
    return stream.take_failure(submissions, std::make_shared<WorkOutcome>());
}

}  // namespace heddle::detail::cu
