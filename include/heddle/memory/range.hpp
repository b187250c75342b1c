// MemoryRange: an address and a size, or several rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Refers to `rows` rows of `bytes` bytes, whose starts are `pitch` bytes apart. Owns nothing.
///
///     const MemoryRange all{data, 1024};
///     all.overlaps(all.part(0, 16));  // true
///
/// A plain value: members compare addresses and never access the memory. Throws nothing. Const
/// members are thread-safe.
struct MemoryRange {
    /// Start of the memory.
    const void* data = nullptr;
    /// Size of a row.
    std::size_t bytes = 0;
    /// Number of rows; 1 unless the memory is two-dimensional.
    std::size_t rows = 1;
    /// Bytes between the starts of two rows; meaningless for one row.
    std::size_t pitch = 0;

    /// Returns the number of bytes in all rows, without the gaps between them.
    constexpr std::size_t total() const noexcept { return rows * bytes; }
    /// Returns the number of bytes from the start of the first row to the end of the last one.
    constexpr std::size_t extent() const noexcept {
        return rows == 0 ? 0 : (rows - 1) * pitch + bytes;
    }
    /// Returns the address of the first byte.
    std::uintptr_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(data); }
    /// Returns the address after the last byte.
    std::uintptr_t end() const noexcept { return address() + extent(); }
    /// Returns whether two ranges share a byte. Gaps between rows count as part of a range.
    bool overlaps(const MemoryRange& other) const noexcept {
        return address() < other.end() && other.address() < end();
    }
    /// Returns whether there are gaps between the rows.
    constexpr bool is_strided() const noexcept { return rows > 1 && pitch != bytes; }
    /// Returns `count` bytes from byte `first` on if there is one row, else `count` rows from row
    /// `first` on.
    MemoryRange part(std::size_t first, std::size_t count) const noexcept {
        const auto* const at = static_cast<const char*>(data) + first * (rows == 1 ? 1 : pitch);
        if (rows == 1) return {at, count, 1, count};
        return {at, bytes, count, count == 1 ? bytes : pitch};
    }
    /// Compares all members. Equal ranges refer to the same bytes.
    bool operator==(const MemoryRange&) const = default;
};

}  // namespace heddle
