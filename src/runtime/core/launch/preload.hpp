// Counts, for backends, the launches that load code on a busy device.
#pragma once

namespace heddle::detail {

/// Counts a launch that will load a kernel's code while its device is busy. Also called for
/// launches that CodeLoadPolicy::refuse rejects (heddle/code/preload.hpp).
void count_load_while_busy() noexcept;

}  // namespace heddle::detail
