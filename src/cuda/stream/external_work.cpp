// External work: native work that code outside heddle enqueues on a captured stream. A native
// capture records it from one call of heddle's to the next.
#include <algorithm>
#include <mutex>
#include <vector>

#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include <heddle/recording/capture.hpp>

#include "core/base/errors.hpp"
#include "core/base/made_once.hpp"

namespace heddle::detail::cu {

namespace {

/// The streams whose native captures are open. With the list, the count stays right even if a
/// capture ended twice or never began.
struct Open {
    std::mutex mutex;
    std::vector<const StreamRecord*> streams;
};
constinit NeverDestroyed<Open> instance;
Open& open() noexcept { return instance.get(); }

void note_begun(const StreamRecord& stream) {
    const std::lock_guard lock(open().mutex);
    open().streams.push_back(&stream);
    open_captures.fetch_add(1, std::memory_order_relaxed);
}
void note_ended(const StreamRecord& stream) noexcept {
    const std::lock_guard lock(open().mutex);
    const auto found = std::ranges::find(open().streams, &stream);
    if (found == open().streams.end()) return;
    open().streams.erase(found);
    open_captures.fetch_sub(1, std::memory_order_relaxed);
}

/// Returns whether cudaStreamEndCapture failed because external work had invalidated the capture.
/// The capture has ended nevertheless.
bool is_spoiled(cudaError_t code) noexcept {
    return code >= cudaErrorStreamCaptureUnsupported && code <= cudaErrorStreamCaptureWrongThread;
}

}  // namespace

void CudaBackend::begin_foreign(StreamRecord& stream, CaptureMode mode,
                                const SourceLocation& where) {
    const cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeThreadLocal,
                                           cudaStreamCaptureModeGlobal,
                                           cudaStreamCaptureModeRelaxed};
    InContext in(gpu_of(stream));
    check(api.cudaStreamBeginCapture(native_of(stream), modes[static_cast<int>(mode)]),
          "cudaStreamBeginCapture", stream, where);
    note_begun(stream);
}

std::shared_ptr<void> CudaBackend::take_foreign(StreamRecord& stream, CaptureMode mode,
                                                const SourceLocation& where) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = nullptr;
    check(api.cuStreamGetCaptureInfo(native_of(stream), &status, nullptr, &graph, nullptr, nullptr,
                                     nullptr),
          "cuStreamGetCaptureInfo", stream, where);
    std::size_t nodes = 0;
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        check(api.cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes", stream, where);
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && nodes == 0) return nullptr;
    InContext in(gpu_of(stream));
    cudaGraph_t taken = nullptr;
    const cudaError_t code = api.cudaStreamEndCapture(native_of(stream), &taken);
    if (code != cudaSuccess && !is_spoiled(code))
        check(code, "cudaStreamEndCapture", stream, where);
    note_ended(stream);
    if (code != cudaSuccess) {
        cudaGetLastError();
        begin_foreign(stream, mode, where);
        usage_error({"capture", where, stream},
                    "what the stream was given past heddle cannot be captured: {}",
                    cudaGetErrorString(code));
    }
    std::shared_ptr<void> result(taken, [device = stream.device.index()](void* g) {
        note_failure(api.cudaGraphDestroy(static_cast<cudaGraph_t>(g)), "cudaGraphDestroy", device);
    });
    begin_foreign(stream, mode, where);
    return result;
}

void CudaBackend::drop_foreign(StreamRecord& stream) noexcept {
    const auto native = static_cast<cudaStream_t>(stream.native);
    note_ended(stream);
    if (native == nullptr) return;  // closed: its capture ended with it
    Gpu& g = gpu_of(stream);
    InContext in(g);
    cudaGraph_t graph = nullptr;
    const cudaError_t code = api.cudaStreamEndCapture(native, &graph);
    if (is_spoiled(code)) cudaGetLastError();
    else note_failure(code, "cudaStreamEndCapture", g.index);
    if (graph != nullptr) note_failure(api.cudaGraphDestroy(graph), "cudaGraphDestroy", g.index);
}

}  // namespace heddle::detail::cu
