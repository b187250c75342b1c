// Kernels that the program has, known before any of them is launched. For files compiled by nvcc, and the library.
#pragma once

#include <heddle/detail/stream_state.hpp>

namespace heddle::detail {

template <class K> inline constexpr char preload_tag = 0;

/// `tag` stands for the kernel's type, whatever its arguments; `loaded` has a bit for each device. Always true.
bool register_kernel(const void* function, const void* tag, std::atomic<std::uint64_t>* loaded);
/// The first launch of a kernel on a device: sees whether it loads code at a bad time (heddle/preload.hpp).
void note_first_launch(StreamState& stream, const char* pretty, const SourceLocation& where);
/// Loads a `__global__` function's code.
void preload_function(Device device, const void* function, const SourceLocation& where);

}  // namespace heddle::detail
