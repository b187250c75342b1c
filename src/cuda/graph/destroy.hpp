// Destruction of native graphs.
#pragma once

#include <memory>
#include <vector>

#include "core/seam/records.hpp"
#include "cuda/host_sync/fence.hpp"

namespace heddle::detail::cu {

/// A native graph and its executable, to be destroyed once the newest launch is done.
struct Doomed {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    bool has_conditions;
    std::vector<EventOwner> events;  ///< not reused until then
    /// The stream of the newest launch, until `launch` has a fence for it. Null if never launched.
    StreamUse last;
    Fences launch;
    std::shared_ptr<Doomed> next;  ///< in the list of kept graphs
};

/// Destroys the graph when its newest launch is done, or keeps it then for destroy_kept_graphs().
/// Never blocks. Throws OutOfMemory.
void destroy_when_done(Gpu& g, Doomed one);

}  // namespace heddle::detail::cu
