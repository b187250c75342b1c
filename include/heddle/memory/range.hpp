// A stretch of memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle {

/// Memory: `rows` rows of `bytes` bytes, whose starts are `pitch` bytes apart. It refers, and owns
/// nothing.
struct MemoryRange {
    /// Start of the memory.
    const void* data = nullptr;
    /// Size of a row.
    std::size_t bytes = 0;
    /// 1 unless the memory is two-dimensional.
    std::size_t rows = 1;
    /// Bytes between the starts of two rows; meaningless for one row.
    std::size_t pitch = 0;

    /// Returns the bytes in all rows.
    constexpr std::size_t total() const noexcept { return rows * bytes; }
    /// Returns the bytes from the first row's beginning to the last one's end.
    constexpr std::size_t extent() const noexcept {
        return rows == 0 ? 0 : (rows - 1) * pitch + bytes;
    }
    /// Returns the address of the first byte.
    std::uintptr_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(data); }
    /// Returns the address behind the last byte.
    std::uintptr_t end() const noexcept { return address() + extent(); }
    /// Returns whether the two have a byte in common, what lies between their rows included.
    bool overlaps(const MemoryRange& other) const noexcept {
        return address() < other.end() && other.address() < end();
    }
    /// Returns whether there are gaps between the rows.
    constexpr bool is_strided() const noexcept { return rows > 1 && pitch != bytes; }
    /// Returns `count` bytes of a single row from byte `first` on; of several rows, so many of
    /// them.
    MemoryRange part(std::size_t first, std::size_t count) const noexcept {
        const auto* const at = static_cast<const char*>(data) + first * (rows == 1 ? 1 : pitch);
        if (rows == 1) return {at, count, 1, count};
        return {at, bytes, count, count == 1 ? bytes : pitch};
    }
    /// Compares members, which tell of the same bytes if they are equal.
    bool operator==(const MemoryRange&) const = default;
};

}  // namespace heddle
