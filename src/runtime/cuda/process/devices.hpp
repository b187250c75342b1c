// Reports whether the CUDA driver was started.
#pragma once

namespace heddle::detail::cu {

/// Returns whether the driver was started, or is being started.
bool is_driver_started() noexcept;

}  // namespace heddle::detail::cu
