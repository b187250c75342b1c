// Several threads that copy host memory together: one copies about 12 GB/s, four 45 (on the
// machine of docs/measurements.md).
#pragma once

#include <cstddef>

namespace heddle::detail::cu {

/// Host memory as copies see it: rows of `bytes`, `pitch` apart.
struct Rows {
    std::byte* data;
    std::size_t pitch;
};

/// Copies `rows` rows of `bytes`. The calling thread takes part; helpers (started at first use, asleep when
/// idle) join when there is enough to do and nobody else has them. Thread-safe. Does not call CUDA.
void copy_on_host(Rows to, Rows from, std::size_t bytes, std::size_t rows) noexcept;

}  // namespace heddle::detail::cu
