// Copies host memory with several threads: one copies 8 to 15 GB/s, eight up to 50
// (docs/measurements.md).
#pragma once

#include <heddle/memory/range.hpp>

namespace heddle::detail::cu {

/// Whether stores bypass the caches. That is better for memory that a GPU reads next, and for more
/// than the caches hold.
enum class Stores : bool { cached, past_caches };

/// Copies memory of the host to as many rows of as many bytes. The calling thread takes part.
/// Helpers join if there is enough to do and no other copy has them; they start at first use and
/// sleep when idle. Thread-safe. Does not call CUDA.
void copy_on_host(const MemoryRange& to, const MemoryRange& from,
                  Stores stores = Stores::cached) noexcept;

}  // namespace heddle::detail::cu
