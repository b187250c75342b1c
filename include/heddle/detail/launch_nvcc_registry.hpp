// Registry of the program's kernels, filled before any of them is launched. For files compiled by
// nvcc, and the library.
#pragma once

#include <heddle/detail/stream_state.hpp>

namespace heddle::detail {

template <class K> inline constexpr char preload_tag = 0;

/// Registers a kernel. `tag` identifies the kernel's type, whatever its arguments; `loaded` has one
/// bit per device. Returns true, so that it can initialise a variable.
bool register_kernel(const void* function, const void* tag, std::atomic<std::uint64_t>* loaded);
/// Called at the first launch of a kernel on a device. Applies the CodeLoadPolicy if the launch
/// would load code at a bad time (heddle/launch/preload.hpp).
void note_first_launch(StreamState& stream, const char* pretty, const SourceLocation& where);
/// Loads a `__global__` function's code.
void preload_function(Device device, const void* function, const SourceLocation& where);

}  // namespace heddle::detail
