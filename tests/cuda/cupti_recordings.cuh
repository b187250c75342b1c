// Helpers for the tests of recordings with CUPTI.
#pragma once

#include "gpu_recordings.cuh"

#include <string>

#include "core/stream/notify.hpp"

namespace heddle_test {

using heddle::detail::TraceGraph;
using heddle::detail::TraceNodeRun;

/// Returns why recordings with CUPTI are impossible here. Returns "" if they are possible.
inline std::string why_not() {
    if (device_count(DeviceKind::cuda) == 0) return "there is no CUDA device";
    const std::string problem = heddle::detail::begin_gpu_records();
    if (problem.empty()) heddle::detail::end_gpu_records();
    return problem.empty() ? "" : "CUPTI cannot be used: " + problem;
}

#define SKIP_WITHOUT_CUPTI()                                                                       \
    if (const std::string problem = why_not(); !problem.empty()) HEDDLE_SKIP(problem)

inline std::string all_notes(const Trace& trace) {
    std::string all;
    for (const std::string& note : trace.notes) all += note + "\n";
    return all;
}

/// Returns the runs of a graph launch's nodes.
inline std::vector<TraceNodeRun> runs_of(const Trace& trace, const TraceOp& launched) {
    std::vector<TraceNodeRun> found;
    for (const TraceNodeRun& run : trace.node_runs)
        if (run.launch == launched.id) found.push_back(run);
    return found;
}

}  // namespace heddle_test
