// Executables with conditional nodes, kept for graphs of the same shape. Those that no graph can
// reuse, such as executables with child graphs, are only kept until they may be destroyed.
#pragma once

#include <cstdint>
#include <memory>

#include "core/graph/graph.hpp"
#include "cuda/graph/destroy.hpp"

namespace heddle::detail::cu {

/// Returns a non-zero number shared by graphs of the same shape: equal kinds of nodes on equal
/// devices, with equal edges, bodies and priorities. Other graphs may share it by accident.
std::uint64_t shape_of(const GraphData& graph);

/// Caches an executable for reuse, because destroying it waits for its device and blocks calls of
/// other threads. Its launches must be done. A background thread destroys it if it has no shape, and
/// the oldest if too many are cached. Does not block.
void keep_spare(std::unique_ptr<Doomed> one) noexcept;
/// Returns the newest executable of this shape, or null.
std::unique_ptr<Doomed> take_spare(std::uint64_t shape) noexcept;

}  // namespace heddle::detail::cu
