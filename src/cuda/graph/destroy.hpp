// Destruction of native graphs.
#pragma once

#include <memory>
#include <vector>

#include "core/seam/records.hpp"
#include "cuda/host_sync/fence.hpp"

namespace heddle::detail::cu {

/// A native graph and its executable, to be destroyed once the newest launch is done. Made with
/// them, so that their end takes no memory.
struct Doomed {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    bool has_conditions = false;
    std::vector<EventOwner> events, replaced_events;  ///< not reused until then
    /// The stream of the newest launch, until `launch` has a fence for it. Null if never launched.
    StreamUse last = {};
    Fences launch;
    std::unique_ptr<Doomed> next;  ///< in a list
};

/// Destroys the graph when its newest launch is done, or keeps it then for destroy_kept_graphs().
/// Never blocks.
void destroy_when_done(Gpu& g, std::unique_ptr<Doomed> one) noexcept;

}  // namespace heddle::detail::cu
