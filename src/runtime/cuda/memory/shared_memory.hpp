// Frees unused memory that can be shared between processes.
#pragma once

namespace heddle::detail::cu {

/// Releases unused memory of shareable and imported arrays. Waits for all work of the device.
/// Returns false if there was no such memory, or if a GPU currently waits for a CPU stream.
bool give_unused_shared_memory_back(int device) noexcept;

}  // namespace heddle::detail::cu
