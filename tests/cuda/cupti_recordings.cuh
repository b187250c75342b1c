// What the tests of recordings by CUPTI share.
#pragma once

#include "../support.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <heddle/cuda.hpp>

#include "core/stream/notify.hpp"
#include "timeline/record/recorder.hpp"

namespace heddle_test {

using heddle::detail::TimelineRecorder;
using heddle::detail::Trace;
using heddle::detail::TraceClock;
using heddle::detail::TraceGraph;
using heddle::detail::TraceNodeRun;
using heddle::detail::TraceOp;
using heddle::detail::unknown_moment;

/// Returns why nothing can be recorded by CUPTI here, or "".
inline std::string why_not() {
    if (device_count(DeviceKind::cuda) == 0) return "there is no CUDA device";
    const std::string problem = heddle::detail::begin_gpu_records();
    if (problem.empty()) heddle::detail::end_gpu_records();
    return problem.empty() ? "" : "CUPTI cannot be used: " + problem;
}

#define SKIP_WITHOUT_CUPTI()                                                                       \
    if (const std::string problem = why_not(); !problem.empty()) HEDDLE_SKIP(problem)

constexpr std::int64_t us = 1000;

/// Runs for so many nanoseconds of the GPU's own timer.
static __global__ void spin_ns(std::uint64_t ns) {
    std::uint64_t begin = 0, now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < ns);
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

inline std::string all_notes(const Trace& trace) {
    std::string all;
    for (const std::string& note : trace.notes) all += note + "\n";
    return all;
}

/// Returns the runs of a launch's nodes.
inline std::vector<TraceNodeRun> runs_of(const Trace& trace, const TraceOp& launched) {
    std::vector<TraceNodeRun> found;
    for (const TraceNodeRun& run : trace.node_runs)
        if (run.launch == launched.id) found.push_back(run);
    return found;
}

}  // namespace heddle_test
