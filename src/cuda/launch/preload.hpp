// First launches of kernels.
#pragma once

#include <heddle/detail/work.hpp>

namespace heddle::detail::cu {

/// Called before a launch of a portable kernel. Applies the CodeLoadPolicy if this is the kernel's
/// first launch on the device and would load code during a capture or while the device is busy
/// (heddle/launch/preload.hpp).
void note_launch(StreamState& stream, const LaunchCall& call);

}  // namespace heddle::detail::cu
