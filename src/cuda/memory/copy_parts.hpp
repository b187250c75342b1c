// Cuts copies into parts that fit into pieces of pinned memory.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/seam/backend.hpp"
#include "cuda/memory/parallel_memcpy.hpp"

namespace heddle::detail::cu {

inline const Place pinned_place{Access::device(DeviceKind::cpu, 0), MemoryKind::pinned};
/// The largest part of a copy in stream order.
inline constexpr std::size_t ordered_bytes = 16 * 1024 * 1024;
/// Copies up to this size go through the caches.
inline constexpr std::size_t cached_bytes = 4 * 1024 * 1024;

inline std::size_t size_of(const Piece& whole) noexcept { return whole.bytes * whole.rows; }
inline Stores stores_for(std::size_t total) noexcept {
    return total > cached_bytes ? Stores::past_caches : Stores::cached;
}

/// Turns each of two rectangles without gaps into one row.
inline void flatten(Piece& to, Piece& from) noexcept {
    if (to.rows <= 1 || to.pitch != to.bytes || from.pitch != from.bytes) return;
    to.bytes = from.bytes = to.bytes * to.rows;
    to.rows = from.rows = 1;
    to.pitch = from.pitch = to.bytes;
}

inline Rows rows_of(const Piece& piece) noexcept {
    return {static_cast<std::byte*>(piece.data), piece.pitch};
}

/// A part of a copy: `rows` rows from `row` on, and `bytes` bytes from `first` on of each. If there
/// are several rows, they are whole.
struct Part {
    std::size_t row, rows, first, bytes;

    std::size_t total() const noexcept { return rows * bytes; }
    Piece of(const Piece& whole) const noexcept {
        return {static_cast<char*>(whole.data) + row * whole.pitch + first, bytes, rows,
                whole.pitch, whole.place};
    }
    Rows rows_of(const Piece& whole) const noexcept {
        return {static_cast<std::byte*>(whole.data) + row * whole.pitch + first, whole.pitch};
    }
    Piece packed(void* data) const noexcept { return {data, bytes, rows, bytes, pinned_place}; }
    Rows packed_rows(void* data) const noexcept { return {static_cast<std::byte*>(data), bytes}; }
};

/// Calls function(part) for parts of at most `most` bytes that make up the whole.
template <class F> void cut(const Piece& whole, std::size_t most, F&& function) {
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
