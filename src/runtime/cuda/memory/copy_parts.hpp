// Cuts copies into parts that fit into pieces of pinned memory.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/seam/backend.hpp"
#include "cuda/memory/parallel_memcpy.hpp"

namespace heddle::detail::cu {

inline const MemorySpace pinned_space{Access::device(DeviceKind::cpu, 0), MemoryKind::pinned};
/// The largest part of a copy in stream order.
inline constexpr std::size_t ordered_bytes = 16 * 1024 * 1024;
/// Copies up to this size use the caches.
inline constexpr std::size_t cached_bytes = 4 * 1024 * 1024;

inline Stores stores_for(std::size_t total) noexcept {
    return total > cached_bytes ? Stores::past_caches : Stores::cached;
}

/// If neither rectangle has gaps between its rows, converts each to a single row.
inline void flatten(MemoryRange& to, MemoryRange& from) noexcept {
    if (to.is_strided() || from.is_strided()) return;
    for (MemoryRange* const one : {&to, &from}) *one = {one->data, one->total(), 1, one->total()};
}

/// A part of a copy: `rows` rows, beginning with row `row`, and of each row `bytes` bytes,
/// beginning with byte `first`. A part with several rows has whole rows.
struct Part {
    std::size_t row, rows, first, bytes;

    std::size_t total() const noexcept { return rows * bytes; }
    Operand of(const Operand& whole) const noexcept {
        return {{writable(whole) + row * whole.pitch + first, bytes, rows, whole.pitch},
                whole.space};
    }
    Operand packed(void* data) const noexcept { return {{data, bytes, rows, bytes}, pinned_space}; }
};

/// Divides `whole` into parts of at most `most` bytes, and calls function(part) for each.
template <class F> void cut(const Operand& whole, std::size_t most, F&& function) {
    if (whole.bytes > most) {
        for (std::size_t row = 0; row < whole.rows; ++row)
            for (std::size_t first = 0; first < whole.bytes; first += most)
                function(Part{row, 1, first, std::min(most, whole.bytes - first)});
    } else {
        const std::size_t at_once = most / whole.bytes;
        for (std::size_t row = 0; row < whole.rows; row += at_once)
            function(Part{row, std::min(at_once, whole.rows - row), 0, whole.bytes});
    }
}

}  // namespace heddle::detail::cu
