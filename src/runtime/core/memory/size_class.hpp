// Size classes of memory. Sizes in one class can replace each other (docs/adr/0052).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace heddle::detail {

/// Size classes end below this size. Memory of half this size or more is not cached.
inline constexpr std::size_t kept_size_end = std::size_t{1} << 40;
inline constexpr int size_class_count = 256;

/// Returns how much memory to allocate for `bytes` bytes. Rounds up by less than 64 bytes or 1/64,
/// whichever is more.
constexpr std::size_t whole_size(std::size_t bytes) noexcept {
    const std::size_t step = std::max<std::size_t>(64, std::bit_floor(bytes) / 64);
    return (bytes + step - 1) / step * step;
}
/// Returns the class of a size, which must be a result of whole_size() below kept_size_end. The
/// largest size of a class is less than 9/8 of the smallest one.
constexpr int size_class(std::size_t size) noexcept {
    if (size < 512) return static_cast<int>(size / 64);
    const int power = static_cast<int>(std::bit_width(size)) - 1;
    return 8 * (power - 8) + static_cast<int>(size >> (power - 3) & 7);
}

}  // namespace heddle::detail
