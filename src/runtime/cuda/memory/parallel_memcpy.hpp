// Copies host memory with several threads: one thread copies 8 to 15 GB/s, eight threads up to 50
// GB/s (docs/measurements.md).
#pragma once

#include <heddle/memory/range.hpp>

namespace heddle::detail::cu {

/// Whether stores bypass the caches. Bypassing is faster for memory that a GPU reads next, and for
/// copies larger than the caches.
enum class Stores : bool { cached, past_caches };

/// Copies host memory to a range with the same number of rows and bytes. The calling thread takes
/// part. Helper threads take part if the copy is large enough and no other copy uses them. They are
/// started at first use, and sleep while idle. Thread-safe. Does not call CUDA.
void copy_on_host(const MemoryRange& to, const MemoryRange& from,
                  Stores stores = Stores::cached) noexcept;

}  // namespace heddle::detail::cu
