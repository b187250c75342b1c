// First launches of kernels.
#pragma once

#include <heddle/launch/detail/work.hpp>

namespace heddle::detail::cu {

/// Called before a launch of a portable kernel. Applies the CodeLoadPolicy
/// (heddle/code/preload.hpp) to the kernel's first launch on the device, if it would load code
/// during a capture or while the device is busy.
void note_launch(StreamState& stream, const LaunchCall& call);

}  // namespace heddle::detail::cu
