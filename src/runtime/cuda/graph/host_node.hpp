// Host nodes: functions that the host runs, in the order of the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "core/graph/graph.hpp"
#include "core/seam/records.hpp"

namespace heddle::detail::cu {

/// A host function's run in one launch.
struct Turn {
    SharedClosure closure;
    const OpType* type;
    std::size_t count;
    SourceLocation where;
    bool enabled = true;
    std::shared_ptr<const std::string> name = {};  ///< the node's name, if it has one
    StreamRecord* stream = nullptr;
    std::uint64_t at = 0;  ///< submission number of the launch
    /// The outcome of the node's component in a batch. If null, the stream's outcome applies.
    std::shared_ptr<WorkOutcome> outcome = {};
};
Turn turn_of(const NodeData& node);

/// The state of a host node. The native graph owns it as a user object, so it exists as long as
/// launches are in progress. Each launch adds a turn, and each run of the node uses the oldest one.
/// So each launch has its own function, and a failure poisons the stream of that launch.
struct HostTurns {
    std::mutex mutex;
    std::deque<Turn> turns;
    static void run(void* data);
    /// Runs the only turn, again at every launch. For graphs owned outside heddle.
    static void run_always(void* data);
};

/// A host node of a graph.
struct HostNode {
    std::size_t node;
    HostTurns* host;
    Turn next;
};

/// Returns whether the node is a host node: a host function, or a kernel of a CPU device. CUDA
/// cannot disable host nodes.
bool is_host(const NodeData& node) noexcept;

}  // namespace heddle::detail::cu
