#include "timeline/solve/pageable_copies.hpp"

namespace heddle::detail {

std::vector<bool> find_pageable_copies(const Trace& trace) {
    std::vector<bool> is_one(trace.ops.size());
    // By thread: its latest copy.
    std::vector<TraceIndex> last(trace.threads.size(), no_index);
    for (TraceIndex i = 0; i < trace.ops.size(); ++i) {
        const TraceOp& op = trace.ops[i];
        if (op.thread >= last.size() || op.mode != OpMode::run) continue;
        if (op.kind == OpKind::copy) last[op.thread] = i;
        if (op.kind != OpKind::host_access || op.reason != WaitReason::copy) continue;
        const TraceIndex copy = last[op.thread];
        if (copy != no_index && trace.ops[copy].file == op.file && trace.ops[copy].line == op.line)
            is_one[copy] = true;
    }
    return is_one;
}

}  // namespace heddle::detail
