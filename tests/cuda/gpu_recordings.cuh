// Helpers for the tests of recordings on GPUs.
#pragma once

#include "../gpu_clock.hpp"
#include "../support.hpp"

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include <heddle/cuda.hpp>

#include "timeline/record/timeline_observer.hpp"

namespace heddle_test {

using heddle::detail::TimelineObserver;
using heddle::detail::Trace;
using heddle::detail::TraceClock;
using heddle::detail::TraceOp;
using heddle::detail::unknown_moment;

constexpr std::int64_t us = 1000;

/// Spins for `ns` nanoseconds by the GPU's own timer.
static __global__ void spin_ns(std::uint64_t ns) {
    const std::uint64_t begin = now_on_gpu();
    while (now_on_gpu() - begin < ns) continue;
}

inline Device gpu() { return Device("cuda:0"); }

inline void spin(StreamRef stream, std::int64_t ns) {
    launch(stream, spin_ns, grid(1, 1), static_cast<std::uint64_t>(ns));
}

inline std::vector<TraceOp> of_kind(const Trace& trace, OpKind kind) {
    std::vector<TraceOp> found;
    for (const TraceOp& op : trace.ops)
        if (op.kind == kind) found.push_back(op);
    return found;
}

inline const heddle::detail::TraceDevice& the_device(const Trace& trace) {
    for (const auto& device : trace.devices)
        if (device.is_cuda) return device;
    throw std::runtime_error("the trace has no CUDA device");
}

/// Three threads that create streams on the GPU and launch short kernels. The destructor ends them.
class BusyStreams {
public:
    /// After the launches on a stream, calls `then` with the number of the thread and the stream.
    template <class F> explicit BusyStreams(F then) {
        for (int t = 0; t < 3; ++t)
            threads_.emplace_back([this, t, then] {
                while (!stop_) {
                    const Stream s(gpu());
                    for (int i = 0; i < 20; ++i) spin(s, 2 * us);
                    then(t, s);
                }
            });
    }
    ~BusyStreams() {
        stop_ = true;
        for (std::thread& one : threads_) one.join();
    }
    BusyStreams(const BusyStreams&) = delete;
    BusyStreams& operator=(const BusyStreams&) = delete;

private:
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

}  // namespace heddle_test
