// Finds operations by their ids.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Finds operations by TraceOp::id, among those of one kind.
class OpsById {
public:
    OpsById(const Trace& trace, OpKind kind);
    /// Returns the index of the operation with this id, or no_index. Returns no_index for the id 0.
    TraceIndex find(std::uint64_t id) const noexcept;

private:
    std::vector<std::pair<std::uint64_t, TraceIndex>> ids_;  ///< sorted
};

}  // namespace heddle::detail
