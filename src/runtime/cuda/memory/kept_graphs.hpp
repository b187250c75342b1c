// Frees memory of executables that are cached for later graphs.
#pragma once

namespace heddle::detail::cu {

/// Destroys the device's cached executables with conditional nodes, which no graph uses. Waits for
/// work of the device. Returns false if there were none. If a GPU currently waits for a CPU stream,
/// destroys none and returns false. (graph/cached_graphs.cpp)
bool destroy_kept_graphs(int device) noexcept;

}  // namespace heddle::detail::cu
