// Memory that processes share.
#pragma once

namespace heddle::detail::cu {

/// Releases memory of shareable and imported arrays that nothing uses any more. Waits for all work
/// of the device. Returns false if there was no such memory, or if a GPU waits for a CPU stream
/// now.
bool give_unused_shared_memory_back(int device) noexcept;

}  // namespace heddle::detail::cu
