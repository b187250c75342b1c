#include "timeline/solve/ops_by_id.hpp"

#include <algorithm>

namespace heddle::detail {

OpsById::OpsById(const Trace& trace, OpKind kind) {
    for (std::size_t i = 0; i < trace.ops.size(); ++i)
        if (const TraceOp& op = trace.ops[i];
            op.kind == kind && op.mode == OpMode::run && op.id != 0)
            ids_.emplace_back(op.id, static_cast<TraceIndex>(i));
    std::sort(ids_.begin(), ids_.end());
}

TraceIndex OpsById::find(std::uint64_t id) const noexcept {
    const auto found = std::lower_bound(ids_.begin(), ids_.end(), std::pair(id, TraceIndex{0}));
    return found != ids_.end() && found->first == id ? found->second : no_index;
}

}  // namespace heddle::detail
