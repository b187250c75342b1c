// Copies host memory with several threads: one copies 8 to 15 GB/s, eight up to 50
// (docs/measurements.md).
#pragma once

#include <cstddef>

namespace heddle::detail::cu {

/// Rows of host memory, `pitch` bytes apart.
struct Rows {
    std::byte* data;
    std::size_t pitch;
};

/// Whether stores bypass the caches. That is better for memory that a GPU reads next, and for more
/// than the caches hold.
enum class Stores : bool { cached, past_caches };

/// Copies `rows` rows of `bytes`. The calling thread takes part. Helpers join if there is enough to
/// do and no other copy has them; they start at first use and sleep when idle. Thread-safe. Does
/// not call CUDA.
void copy_on_host(Rows to, Rows from, std::size_t bytes, std::size_t rows,
                  Stores stores = Stores::cached) noexcept;

}  // namespace heddle::detail::cu
