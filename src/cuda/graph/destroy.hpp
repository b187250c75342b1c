// Destruction of native graphs.
#pragma once

#include <memory>

#include "core/seam/records.hpp"
#include "cuda/graph/native_graph.hpp"
#include "cuda/host_sync/fence.hpp"

namespace heddle::detail::cu {

/// A native graph to be destroyed once the newest launch is done. Created together with the graph,
/// so that destroying the graph does not allocate.
struct Doomed {
    NativeGraph native;
    /// The stream of the newest launch, until `launch` has a fence for it. Null if never launched.
    StreamUse last = {};
    Fences launch;
    std::unique_ptr<Doomed> next;  ///< in a list
};

/// Destroys the graph once its newest launch is done, or passes it to keep_spare(). Postpones the
/// destruction while a GPU waits for a CPU stream, unless very many are postponed.
void destroy_when_done(Gpu& g, std::unique_ptr<Doomed> one) noexcept;
/// Destroys the executable and the native graph immediately. Waits for the device, always if the
/// graph has conditional nodes and sometimes without them, so close await_gate first. Open the gate
/// again before `one` is destroyed, because its other members may own memory whose release waits
/// for the gate.
void destroy_natively(Doomed& one) noexcept;

}  // namespace heddle::detail::cu
