// Executables with conditional nodes, kept for graphs of the same shape.
#pragma once

#include <cstdint>
#include <memory>

#include "core/graph/graph.hpp"
#include "cuda/graph/destroy.hpp"

namespace heddle::detail::cu {

/// Returns a non-zero hash that is equal for graphs of the same shape: equal kinds of nodes on
/// equal devices, with equal edges, bodies and priorities.
std::uint64_t shape_of(const GraphData& graph);

/// Caches an executable for reuse, because destroying it waits for its device and blocks calls of
/// other threads. The executable's launches must be done. If too many executables are cached, a
/// background thread destroys the oldest ones. Does not block.
void cache_graph(std::unique_ptr<Doomed> one) noexcept;
/// Returns the newest executable of this shape, or null.
std::unique_ptr<Doomed> take_cached(std::uint64_t shape) noexcept;

}  // namespace heddle::detail::cu
