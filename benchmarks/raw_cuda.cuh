// Raw CUDA as a careful user writes it, for comparison with heddle.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace bench {

[[noreturn]] inline void raw_failed(cudaError_t code) {
    throw std::runtime_error(std::string("raw CUDA: ") + cudaGetErrorName(code) + ": " +
                             cudaGetErrorString(code));
}

/// Checks the result of a native call as heddle does.
inline void ok(cudaError_t code) {
    if (code != cudaSuccess) [[unlikely]]
        raw_failed(code);
}

/// Enables the current device's access to memory of `peer`. Returns false if that is impossible.
inline bool enable_access(int device, int peer) {
    int possible = 0;
    ok(cudaDeviceCanAccessPeer(&possible, device, peer));
    if (possible == 0) return false;
    const cudaError_t code = cudaDeviceEnablePeerAccess(peer, 0);
    if (code != cudaErrorPeerAccessAlreadyEnabled) ok(code);
    else (void)cudaGetLastError();  // clears the error, so that the next call does not report it
    return true;
}

/// The grid of a one-dimensional kernel.
struct Grid {
    unsigned blocks, threads;
};
/// Returns the grid that heddle chooses for `count` indices, so that both launch equal kernels. If
/// there are few indices, blocks are small, so that all multiprocessors take part.
inline Grid grid_of(std::size_t count, int processors) {
    const auto up = [](std::size_t n, std::size_t unit) { return (n + unit - 1) / unit; };
    const std::size_t share = 32 * up(up(count, static_cast<std::size_t>(processors)), 32);
    const std::size_t threads = share < 256 ? share : 256;
    return {static_cast<unsigned>(up(count, threads)), static_cast<unsigned>(threads)};
}

/// The objects of one raw implementation. Its functions share them: they are destroyed with the
/// last function. Construct while the device is current.
struct Raw {
    cudaStream_t a = nullptr, b = nullptr, c = nullptr;          ///< non-blocking streams
    cudaEvent_t of_a = nullptr, of_b = nullptr, of_c = nullptr;  ///< events without timing

    Raw() {
        for (cudaStream_t* stream : {&a, &b, &c})
            ok(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
        for (cudaEvent_t* event : {&of_a, &of_b, &of_c})
            ok(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }
    Raw(const Raw&) = delete;
    Raw& operator=(const Raw&) = delete;
    ~Raw() {
        for (cudaStream_t stream : {a, b, c}) cudaStreamDestroy(stream);
        for (cudaEvent_t event : {of_a, of_b, of_c}) cudaEventDestroy(event);
    }
};

/// The executable graph of work that is captured by hand.
class RawGraph {
public:
    /// Captures the work that enqueue() enqueues on `stream`, and on streams that wait for it.
    template <class F> RawGraph(cudaStream_t stream, F&& enqueue) {
        cudaGraph_t graph = nullptr;
        ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        enqueue();
        ok(cudaStreamEndCapture(stream, &graph));
        ok(cudaGraphInstantiate(&exec_, graph, 0));
        ok(cudaGraphDestroy(graph));
    }
    RawGraph(const RawGraph&) = delete;
    RawGraph& operator=(const RawGraph&) = delete;
    ~RawGraph() { cudaGraphExecDestroy(exec_); }

    void launch(cudaStream_t stream) const { ok(cudaGraphLaunch(exec_, stream)); }

private:
    cudaGraphExec_t exec_ = nullptr;
};

inline void synchronize_raw_device() { ok(cudaDeviceSynchronize()); }

}  // namespace bench
