// Destruction of native graphs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/seam/records.hpp"
#include "cuda/graph/host_graphs.hpp"
#include "cuda/host_sync/fence.hpp"

namespace heddle::detail::cu {

/// A native graph and its executable, to be destroyed once the newest launch is done. Made with
/// them, so that their end takes no memory.
struct Doomed {
    Gpu* gpu = nullptr;  ///< the graph's
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    std::vector<cudaGraphNode_t> nodes;  ///< of `graph`
    /// Which graphs can take the executable over, and 0 for none. Others are destroyed.
    std::uint64_t shape = 0;
    std::uint64_t gpus = 0;  ///< of its nodes: bit i means cuda:i
    bool has_conditions = false;
    HostGraph host_graph;
    std::vector<EventOwner> events, replaced_events;  ///< not reused until then
    /// The stream of the newest launch, until `launch` has a fence for it. Null if never launched.
    StreamUse last = {};
    Fences launch;
    std::unique_ptr<Doomed> next;  ///< in a list
};

/// Destroys the graph when its newest launch is done, or hands it to keep_spare() then. Never
/// blocks.
void destroy_when_done(Gpu& g, std::unique_ptr<Doomed> one) noexcept;
/// Destroys it at once. With conditional nodes this waits for the device: close await_gate first.
void destroy_now(std::unique_ptr<Doomed> one) noexcept;

}  // namespace heddle::detail::cu
