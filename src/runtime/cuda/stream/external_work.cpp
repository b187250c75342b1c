// External work: native work that code outside heddle enqueues while heddle captures a stream. A
// native capture records the work enqueued between two calls to heddle.
#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/errors.hpp"
#include "core/base/made_once.hpp"
#include "core/base/report.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include <heddle/recording/capture.hpp>

namespace heddle::detail::cu {

namespace {

/// Caches internal streams, whose handles captures lend to code outside heddle.
class IdleStreams {
public:
    cudaStream_t acquire(const Gpu& g, int priority, const SourceLocation& where) {
        {
            const std::lock_guard lock(mutex_);
            const auto found = std::ranges::find_if(free_, [&](const Idle& one) {
                return one.gpu == g.index && one.priority == priority;
            });
            if (found != free_.end()) {
                const cudaStream_t native = found->native;
                free_.erase(found);
                return native;
            }
            if (++made_ > free_.capacity()) free_.reserve(2 * made_);  // for release()
        }
        RelaxedCapture relaxed;
        cudaStream_t native = nullptr;
        check(api.cudaStreamCreateWithPriority(&native, cudaStreamNonBlocking, priority),
              "cudaStreamCreateWithPriority", g.index, where);
        return native;
    }
    void release(const Gpu& g, int priority, cudaStream_t native) noexcept {
        const std::lock_guard lock(mutex_);
        free_.push_back({g.index, priority, native});
    }

private:
    struct Idle {
        int gpu;
        int priority;
        cudaStream_t native;
    };
    std::mutex mutex_;  ///< guards the next two
    std::vector<Idle> free_;
    std::size_t made_ = 0;
};
constinit NeverDestroyed<IdleStreams> idle_streams;

/// Destroys a graph of captured native work. In a callback, defers that.
void destroy_work(Gpu& g, cudaGraph_t work) noexcept try {
    if (is_forked()) return;
    if (in_callback) return defer(g, [&g, work] { destroy_work(g, work); });
    const RelaxedCapture relaxed;
    const InContext in(g);
    const std::lock_guard lock(child_graphs_mutex);
    note_failure(api.cudaGraphDestroy(work), "cudaGraphDestroy", g.index);
} catch (...) {
    report(std::current_exception());
}

class NativeCapture final : public ForeignCapture {
public:
    NativeCapture(StreamRecord& stream, bool is_held, CaptureMode mode, const SourceLocation& where)
        : stream_(stream), id_(stream.id.load(std::memory_order_relaxed)), gpu_(gpu_of(stream)),
          mode_(mode), priority_(stream.priority.load(std::memory_order_relaxed)),
          is_held_(is_held) {
        const InContext in(gpu_);
        native_ = is_held ? native_of(stream) : idle_streams.get().acquire(gpu_, priority_, where);
        try {
            // Copies the stream's attributes, such as an access policy, because captured kernels
            // take these from their stream.
            if (!is_held)
                check(api.cudaStreamCopyAttributes(native_, native_of(stream)),
                      "cudaStreamCopyAttributes", stream, where);
            begin(where);
        } catch (...) {
            release(true);
            throw;
        }
    }
    ~NativeCapture() override {
        if (is_forked()) return;
        const InContext in(gpu_);
        release(is_open_ ? drop() : true);
    }

    void* native() const noexcept override { return native_; }

    std::shared_ptr<void> take_work(const SourceLocation& where) override {
        if (is_closed()) return nullptr;
        if (!is_open_)
            usage_error({"capture", where, stream_},
                        "work that is enqueued on the stream outside heddle is no longer captured, "
                        "because of an earlier error: end the capture and discard its graph");
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        CUgraph graph = nullptr;
        check(api.cuStreamGetCaptureInfo(native_, &status, nullptr, &graph, nullptr, nullptr,
                                         nullptr),
              "cuStreamGetCaptureInfo", stream_, where);
        std::size_t nodes = 0;
        if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
            check(api.cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes", stream_,
                  where);
        if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && nodes == 0) return nullptr;
        if (mode_ != CaptureMode::relaxed && begun_by_ != std::this_thread::get_id())
            usage_error({"capture", where, stream_},
                        "work that another thread enqueued outside heddle cannot be captured on "
                        "this thread: capture with CaptureMode::relaxed, or make this call on the "
                        "thread that enqueued the work");
        const InContext in(gpu_);
        cudaGraph_t taken = nullptr;
        const cudaError_t code = api.cudaStreamEndCapture(native_, &taken);
        if (code != cudaSuccess && !is_capture_error(code))
            check(code, "cudaStreamEndCapture", stream_, where);
        note_ended();
        if (code != cudaSuccess) {
            cudaGetLastError();
            begin(where);
            usage_error({"capture", where, stream_},
                        "work enqueued on the stream outside heddle cannot be captured: {}",
                        cudaGetErrorString(code));
        }
        std::shared_ptr<void> result(
            taken, [on = &gpu_](void* work) { destroy_work(*on, static_cast<cudaGraph_t>(work)); });
        begin(where);
        return result;
    }

private:
    /// Returns whether the capture used the handle of a stream that has ended. The capture has then
    /// ended as well.
    bool is_closed() const noexcept {
        return is_held_ &&
               (stream_.id.load(std::memory_order_relaxed) != id_ || stream_.native == nullptr);
    }
    void note_ended() noexcept {
        is_open_ = false;
        open_captures.fetch_sub(1, std::memory_order_relaxed);
    }
    void begin(const SourceLocation& where) {
        const cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeThreadLocal,
                                               cudaStreamCaptureModeGlobal,
                                               cudaStreamCaptureModeRelaxed};
        const std::lock_guard lock(captures_mutex);
        check(api.cudaStreamBeginCapture(native_, modes[static_cast<int>(mode_)]),
              "cudaStreamBeginCapture", stream_, where);
        is_open_ = true;
        open_captures.fetch_add(1, std::memory_order_relaxed);
    }
    /// Ends the capture and discards its work. Returns false if this thread cannot end it: unless
    /// the mode is relaxed, only the thread that began the capture can.
    bool drop() noexcept {
        note_ended();
        if (is_closed()) return true;
        cudaGraph_t graph = nullptr;
        const cudaError_t code = api.cudaStreamEndCapture(native_, &graph);
        if (is_capture_error(code)) cudaGetLastError();
        else note_failure(code, "cudaStreamEndCapture", gpu_.index);
        if (graph != nullptr) destroy_work(gpu_, graph);
        return code != cudaErrorStreamCaptureWrongThread;
    }
    void release(bool is_usable) noexcept {
        if (is_held_) return;
        if (is_usable) idle_streams.get().release(gpu_, priority_, native_);
        else note_failure(api.cudaStreamDestroy(native_), "cudaStreamDestroy", gpu_.index);
    }

    StreamRecord& stream_;
    const std::uint64_t id_;
    Gpu& gpu_;
    const CaptureMode mode_;
    const std::thread::id begun_by_ = std::this_thread::get_id();
    const int priority_;
    const bool is_held_;
    bool is_open_ = false;
    cudaStream_t native_ = nullptr;
};

}  // namespace

std::unique_ptr<ForeignCapture> CudaBackend::capture_foreign(StreamRecord& stream, bool is_held,
                                                             CaptureMode mode,
                                                             const SourceLocation& where) {
    return std::make_unique<NativeCapture>(stream, is_held, mode, where);
}

}  // namespace heddle::detail::cu
