// Destruction of native graphs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/seam/records.hpp"
#include "cuda/graph/host_graphs.hpp"
#include "cuda/host_sync/fence.hpp"

namespace heddle::detail::cu {

/// A native graph and its executable, to be destroyed once the newest launch is done. Created
/// together with them, so that their destruction does not allocate.
struct Doomed {
    Gpu* gpu = nullptr;  ///< the graph's
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    std::vector<cudaGraphNode_t> nodes;  ///< of `graph`
    /// Identifies the graphs that can reuse the executable. 0 if none can; the executable is then
    /// destroyed.
    std::uint64_t shape = 0;
    std::uint64_t gpus = 0;  ///< of its nodes: bit i means cuda:i
    bool has_conditions = false;
    HostGraph host_graph;
    std::vector<EventOwner> events, replaced_events;  ///< not reused before the destruction
    /// The stream of the newest launch, until `launch` has a fence for it. Null if never launched.
    StreamUse last = {};
    Fences launch;
    std::unique_ptr<Doomed> next;  ///< in a list
};

/// Destroys the graph once its newest launch is done, or passes it to keep_spare(). Never blocks.
void destroy_when_done(Gpu& g, std::unique_ptr<Doomed> one) noexcept;
/// Destroys it immediately. With conditional nodes this waits for the device: close await_gate
/// first.
void destroy_now(std::unique_ptr<Doomed> one) noexcept;

}  // namespace heddle::detail::cu
