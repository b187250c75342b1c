#include "timeline/solve/abandoned.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace heddle::detail {

std::vector<bool> abandoned_ops(const Trace& trace) {
    std::vector<bool> abandoned(trace.ops.size());
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> unsent;  // by batch
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        const TraceOp& op = trace.ops[i];
        if (op.recording == 0) continue;
        if (op.mode == OpMode::batched) unsent[op.recording].push_back(i);
        else if (op.kind == OpKind::graph_launch) unsent.erase(op.recording);
        else if (op.kind == OpKind::abandon)
            for (const std::size_t one : unsent[op.recording]) abandoned[one] = true;
    }
    return abandoned;
}

}  // namespace heddle::detail
