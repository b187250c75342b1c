// Guards around native calls: the current context, capture modes, and callbacks of the driver.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "cuda/device/driver.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Makes the device's context current while the object exists, unless it is already current. Pushes
/// and pops contexts: restoring device 0 by cudaSetDevice would initialise it.
class InContext {
public:
    explicit InContext(const Gpu& g) noexcept : InContext(g.context, true) {}
    ~InContext() {
        if (pushed_) {
            CUcontext popped = nullptr;
            api.cuCtxPopCurrent(&popped);
        }
    }
    InContext(const InContext&) = delete;
    InContext& operator=(const InContext&) = delete;

protected:
    InContext(CUcontext context, bool wanted) noexcept {
        if (!wanted) return;
        CUcontext current = nullptr;
        api.cuCtxGetCurrent(&current);
        if (current != context) pushed_ = api.cuCtxPushCurrent(context) == CUDA_SUCCESS;
    }

private:
    bool pushed_ = false;
};

/// Returns whether the handle is cudaStreamLegacy or cudaStreamPerThread. These two mean a stream
/// of the current device. Every other handle belongs to a fixed device. Returns false for null: in
/// CUDA null is the legacy stream, but in heddle it stands for a closed stream.
inline bool is_default_handle(const void* native) noexcept {
    return reinterpret_cast<std::uintptr_t>(native) - 1 <= 1;
}

/// Guards driver calls on a stream. Such calls run on the stream's device, whichever context is
/// current, or without one (seen with driver 580 on two GPUs). Only a default stream needs its
/// device's context, because its handle means the default stream of the current device.
///
/// Use InContext instead for copies and for runtime calls: CUDA refuses copies of pool memory while
/// another device's context is current, and runtime calls on a thread without a context initialise
/// device 0.
class OnStream : public InContext {
public:
    OnStream(const Gpu& g, const void* native) noexcept
        : InContext(g.context, is_default_handle(native)) {}
};

/// Whether this is a driver's thread that runs one of heddle's callbacks. Callbacks must not call
/// CUDA.
inline constinit thread_local bool in_callback = false;

/// Relaxes this thread's capture mode while the object exists. Use it for housekeeping, which
/// queries or waits for objects that are unrelated to a capture: in any other mode, such calls
/// would invalidate the capture. No effect in callbacks.
class RelaxedCapture {
public:
    RelaxedCapture() noexcept { exchange(); }
    ~RelaxedCapture() { exchange(); }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

private:
    void exchange() noexcept {
        if (!in_callback) api.cuThreadExchangeStreamCaptureMode(&mode_);
    }

    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// The number of native captures that heddle holds open, for work that code outside heddle
/// enqueues.
inline std::atomic<int> open_captures{0};
/// Locked while heddle begins a capture for outside work, and during calls that concern all streams
/// of a context. These calls would invalidate an open capture.
inline constinit std::mutex captures_mutex;
/// Locked while a native graph is added to another one as a child, and while either of them is
/// destroyed. Without it, the driver crashed when two threads destroyed the original and the graph
/// with its copy at the same time (docs/adr/0215).
inline constinit std::mutex child_graphs_mutex;

/// A RelaxedCapture that has an effect only while heddle holds a native capture open. Use it for
/// frequent calls that an open capture forbids even on other streams, such as allocating from a
/// pool (CUDA 13.0).
class RelaxedWhileCaptured {
public:
    RelaxedWhileCaptured() noexcept {
        if (open_captures.load(std::memory_order_relaxed) != 0) [[unlikely]]
            relaxed_.emplace();
    }

private:
    std::optional<RelaxedCapture> relaxed_;
};

class InCallback {
public:
    InCallback() noexcept : before_(in_callback) { in_callback = true; }
    ~InCallback() { in_callback = before_; }
    InCallback(const InCallback&) = delete;
    InCallback& operator=(const InCallback&) = delete;

private:
    bool before_;
};

}  // namespace heddle::detail::cu
