// Executables with conditional nodes, kept for graphs of the same shape.
#pragma once

#include <cstdint>
#include <memory>

#include "core/graph/graph.hpp"
#include "cuda/graph/destroy.hpp"

namespace heddle::detail::cu {

/// Returns a number that is not 0 and that graphs of the same shape share: equal kinds of nodes on
/// equal devices, with equal edges, bodies and priorities. Others may share it by accident.
std::uint64_t shape_of(const GraphData& graph);

/// Keeps an executable whose launches are done. Destroying one waits for its device, and other
/// threads' calls wait with it, so it is used again first. When there are too many, a background
/// thread destroys the oldest. Does not block.
void keep_spare(std::unique_ptr<Doomed> one) noexcept;
/// Returns the newest one of this shape, or null.
std::unique_ptr<Doomed> take_spare(std::uint64_t shape) noexcept;
/// Destroys executables with conditional nodes that nothing refers to any more, and that are kept
/// for other graphs. Waits for work of the device. Returns false if there were none, or if a GPU
/// waits for a CPU stream now.
bool destroy_kept_graphs(int device) noexcept;

}  // namespace heddle::detail::cu
