// Destruction of native graphs.
#pragma once

#include <memory>

#include "core/seam/records.hpp"
#include "cuda/graph/native_graph.hpp"
#include "cuda/host_sync/pending_use.hpp"

namespace heddle::detail::cu {

/// A native graph that will be destroyed once its newest launch is done. Created together with the
/// graph: destroying the graph then needs no allocation.
struct Doomed {
    NativeGraph native;
    /// The stream of the newest launch, until `launch` has a pending use for it. Null if the graph
    /// was never launched.
    StreamUse last = {};
    PendingUses launch;
    std::unique_ptr<Doomed> next;  ///< the next one in a list
};

/// Destroys the graph once its newest launch is done, or passes it to cache_graph(). Postpones the
/// destruction while a GPU waits for a CPU stream, unless very many destructions are postponed
/// already.
void destroy_when_done(Gpu& g, std::unique_ptr<Doomed> one) noexcept;
/// Destroys the executable and the native graph immediately. Close wait_gate first, because this
/// waits for the device: always if the graph has conditional nodes, otherwise sometimes. Open the
/// gate before `one` is destroyed, because its other members may own memory whose release needs the
/// gate.
void destroy_natively(Doomed& one) noexcept;

}  // namespace heddle::detail::cu
