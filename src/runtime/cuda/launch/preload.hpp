// Handles the first launches of kernels.
#pragma once

#include <heddle/launch/detail/work.hpp>

namespace heddle::detail::cu {

/// Call before a launch of a portable kernel. If this is the kernel's first launch on the device,
/// and would load code during a capture or while the device is busy, applies the CodeLoadPolicy
/// (heddle/code/preload.hpp).
void note_launch(StreamState& stream, const LaunchCall& call);

}  // namespace heddle::detail::cu
