// Launches kernels of modules, which only the driver can launch.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/launch/kernel_form.hpp"

namespace heddle::detail::cu {

/// Opts the kernel in to the dynamic shared memory that the grid requests.
void raise_shared_of_module(StreamState& stream, const GridHead& grid, const SourceLocation& where);
/// Throws UsageError, naming the limit, or Unsupported if the stream's device does not support such
/// a launch.
void check_module_options(StreamState& stream, const GridHead& grid, const LaunchOptions& options,
                          const SourceLocation& where);
cudaError_t launch_of_module(StreamState& stream, const KernelForm& form, const PassedOptions& how);

}  // namespace heddle::detail::cu
