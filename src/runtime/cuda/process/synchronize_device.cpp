// Waiting for all work of a device.
#include <mutex>
#include <utility>
#include <vector>

#include "core/failure/told.hpp"
#include "core/stream/registry.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/host_sync/bounds.hpp"

namespace heddle::detail::cu {

namespace {

bool is_lost(const Gpu& g) noexcept { return g.lost.load(std::memory_order_acquire); }

/// The ends of the work enqueued so far on the streams of a device. Waits for events instead of
/// streams, because other threads may destroy a stream during the wait. Pins closed streams, so
/// that they keep their final event.
class Ends {
public:
    explicit Ends(Gpu& g) noexcept : g_(g) {}
    ~Ends() { release(); }
    Ends(const Ends&) = delete;
    Ends& operator=(const Ends&) = delete;

    /// Adds all streams of the device, except capturing ones, whose work does not run.
    void add_all(const SourceLocation& where);
    void wait(const SourceLocation& where);
    void release() noexcept;

    bool is_any_capturing() const noexcept { return is_any_capturing_; }
    /// Returns the first failure of recording or waiting for an event, or null.
    const Failure& failure() const noexcept { return failure_; }

private:
    struct End {
        StreamRecord* stream;
        std::uint64_t submissions;
        cudaEvent_t event;
        bool is_closed;
    };
    void add(StreamRecord& stream, cudaEvent_t& next_event);
    void note(CUresult code, const char* call) {
        if (failure_ == nullptr) failure_ = failure_from(as_runtime(code), call, g_.index);
    }

    Gpu& g_;
    std::vector<End> all_;
    bool is_any_capturing_ = false;
    Failure failure_;
};

void Ends::add_all(const SourceLocation& where) {
    std::vector<StreamRecord*> streams;
    for_each_stream([&](StreamRecord& s) {
        if (s.device.is_cuda() && s.device.index() == g_.index) streams.push_back(&s);
    });
    all_.reserve(streams.size());
    cudaEvent_t next_event = nullptr;
    for (StreamRecord* s : streams) {
        if (next_event == nullptr) next_event = take_event(g_, where);
        add(*s, next_event);
    }
    give_event(g_, next_event);
}

/// Adds a stream. If it uses the event `next_event`, sets `next_event` to null.
void Ends::add(StreamRecord& stream, cudaEvent_t& next_event) {
    const std::lock_guard life(stream.life);
    const std::uint64_t submitted = stream.submissions.load(std::memory_order_acquire);
    if (stream.native == nullptr) {
        if (stream.final_event == nullptr) return;
        stream.pins.fetch_add(1, std::memory_order_relaxed);
        all_.push_back({&stream, submitted, static_cast<cudaEvent_t>(stream.final_event), true});
        return;
    }
    if (capture_of(stream) != 0) {
        is_any_capturing_ = true;
        return;
    }
    const CUresult code = record_on(g_, next_event, static_cast<cudaStream_t>(stream.native));
    if (code == CUDA_SUCCESS)
        all_.push_back({&stream, submitted, std::exchange(next_event, nullptr), false});
    else note(code, "cuEventRecord");
}

void Ends::wait(const SourceLocation& where) {
    for (const End& end : all_) {
        const CUresult code = api.cuEventSynchronize(end.event);
        if (is_sticky(as_runtime(code)))
            mark_lost(g_.index, as_runtime(code), "cuEventSynchronize", nullptr, where);
        else if (code != CUDA_SUCCESS) note(code, "cuEventSynchronize");
        else if (!end.is_closed) see_complete(*end.stream, end.submissions);
    }
}

void Ends::release() noexcept {
    for (const End& end : all_) {
        if (end.is_closed) end.stream->pins.fetch_sub(1, std::memory_order_release);
        else give_event(g_, end.event);
    }
    all_.clear();
}

/// Waits also for work on streams that heddle does not know. Has no effect while a capture is open,
/// because the native call would invalidate the capture.
void wait_for_all(Gpu& g, const SourceLocation& where) {
    const cudaEvent_t event = take_event(g, where);
    CUresult code = CUDA_SUCCESS;
    bool is_recorded = false;
    {
        const std::lock_guard lock(captures_mutex);
        is_recorded = open_captures.load(std::memory_order_relaxed) == 0;
        if (is_recorded) code = api.cuCtxRecordEvent(g.context, event);
    }
    const char* call = "cuCtxRecordEvent";
    if (is_recorded && code == CUDA_SUCCESS) {
        call = "cuEventSynchronize";
        code = api.cuEventSynchronize(event);
    }
    give_event(g, event);
    // A stream that heddle does not know is being captured. All of heddle's streams are done.
    if (is_capture_error(as_runtime(code))) return;
    if (is_sticky(as_runtime(code))) mark_lost(g.index, as_runtime(code), call, nullptr, where);
    else check(code, call, g.index, where);
}

}  // namespace

void CudaBackend::synchronize_device(int device, std::vector<CompletionRef>&,
                                     const SourceLocation& where) {
    refuse_forked("synchronize_device", where);
    Gpu* g = gpu_if_used(device);
    if (g == nullptr || is_lost(*g)) return;  // core reports the failure
    RelaxedCapture relaxed;
    Ends ends(*g);
    ends.add_all(where);
    ends.wait(where);
    ends.release();
    if (ends.failure() != nullptr && !is_lost(*g)) throw_failure(ends.failure());
    if (is_lost(*g)) return;
    if (!ends.is_any_capturing()) wait_for_all(*g, where);
    read_file_reports(*g, nullptr, where);
    finish_cleanups(*g);  // recycles closed streams, whose failures are then reported
}

}  // namespace heddle::detail::cu
