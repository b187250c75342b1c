// First launches of kernels.
#pragma once

#include <heddle/detail/work.hpp>

namespace heddle::detail::cu {

/// Called before a launch of a portable kernel. If it is the first one on its device, applies the
/// CodeLoadPolicy if the launch would load code at a bad time (heddle/launch/preload.hpp).
void note_launch(StreamState& stream, const LaunchCall& call);

}  // namespace heddle::detail::cu
