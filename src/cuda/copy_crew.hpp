// Several threads that copy host memory together: one copies 8 to 15 GB/s, eight up to 50 (docs/measurements.md).
#pragma once

#include <cstddef>

namespace heddle::detail::cu {

/// Host memory as copies see it: rows of `bytes`, `pitch` apart.
struct Rows {
    std::byte* data;
    std::size_t pitch;
};

/// Whether what is written goes to memory past the caches: better for what a GPU reads next, and for more than caches hold.
enum class Stores : bool { cached, past_caches };

/// Copies `rows` rows of `bytes`. The calling thread takes part; helpers (started at first use, asleep when
/// idle) join when there is enough to do and nobody else has them. Thread-safe. Does not call CUDA.
void copy_on_host(Rows to, Rows from, std::size_t bytes, std::size_t rows,
                  Stores stores = Stores::cached) noexcept;

}  // namespace heddle::detail::cu
