// What others give a captured stream past heddle: captured natively, from heddle's call to heddle's next.
#include "cuda/backend.hpp"
#include <heddle/capture.hpp>

namespace heddle::detail::cu {

void CudaBackend::begin_foreign(StreamRecord& stream, CaptureMode mode, const SourceLocation& where) {
    const cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeGlobal,
                                           cudaStreamCaptureModeRelaxed};
    InContext in(gpu_of(stream));
    check(cudaStreamBeginCapture(native_of(stream), modes[static_cast<int>(mode)]), "cudaStreamBeginCapture",
          stream, where);
    open_captures.fetch_add(1, std::memory_order_relaxed);
}

std::shared_ptr<void> CudaBackend::take_foreign(StreamRecord& stream, CaptureMode mode,
                                                const SourceLocation& where) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = nullptr;
    check(driver.capture_info(native_of(stream), &status, nullptr, &graph, nullptr, nullptr, nullptr),
          "cuStreamGetCaptureInfo", stream, where);
    std::size_t nodes = 0;
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        check(cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes", stream, where);
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && nodes == 0) return nullptr;
    InContext in(gpu_of(stream));
    cudaGraph_t taken = nullptr;
    open_captures.fetch_sub(1, std::memory_order_relaxed);
    const cudaError_t code = cudaStreamEndCapture(native_of(stream), &taken);
    if (code != cudaSuccess) {
        cudaGetLastError();
        begin_foreign(stream, mode, where);
        throw_usage(std::string("what the stream was given past heddle cannot be captured: ") +
                        cudaGetErrorString(code),
                    "capture", &stream, where);
    }
    std::shared_ptr<void> result(taken, [](void* g) { cudaGraphDestroy(static_cast<cudaGraph_t>(g)); });
    begin_foreign(stream, mode, where);
    return result;
}

void CudaBackend::drop_foreign(StreamRecord& stream) noexcept {
    InContext in(gpu_of(stream));
    cudaGraph_t graph = nullptr;
    open_captures.fetch_sub(1, std::memory_order_relaxed);
    if (cudaStreamEndCapture(native_of(stream), &graph) != cudaSuccess) cudaGetLastError();
    else cudaGraphDestroy(graph);
}

}  // namespace heddle::detail::cu
