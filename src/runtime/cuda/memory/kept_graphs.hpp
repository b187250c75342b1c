// Memory that graphs keep for later graphs.
#pragma once

namespace heddle::detail::cu {

/// Destroys the device's unused executables with conditional nodes, which are kept for other
/// graphs. Waits for work of the device. Returns false if there were none. Also returns false, and
/// destroys none, if a GPU currently waits for a CPU stream. (graph/spares.cpp)
bool destroy_kept_graphs(int device) noexcept;

}  // namespace heddle::detail::cu
