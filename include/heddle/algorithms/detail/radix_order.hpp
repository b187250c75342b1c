// Keys whose order is the order of their bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#include <heddle/algorithms/detail/functions.hpp>

namespace heddle::detail {

/// Whether a radix sort can sort keys of this type.
template <class K>
inline constexpr bool has_radix = (std::is_integral_v<K> && sizeof(K) <= 8) ||
                                  std::is_same_v<K, float> || std::is_same_v<K, double>;
/// Whether `Less` orders keys from the smallest to the largest.
template <class Less, class K>
inline constexpr bool is_ascending = has_radix<K> && is_standard<Less, std::less, K>;
/// Whether `Less` orders keys from the largest to the smallest.
template <class Less, class K>
inline constexpr bool is_descending = has_radix<K> && is_standard<Less, std::greater, K>;

/// Unsigned integers of this size.
template <std::size_t bytes> struct UnsignedOf;
template <> struct UnsignedOf<1> {
    using type = std::uint8_t;
};
template <> struct UnsignedOf<2> {
    using type = std::uint16_t;
};
template <> struct UnsignedOf<4> {
    using type = std::uint32_t;
};
template <> struct UnsignedOf<8> {
    using type = std::uint64_t;
};

/// The type of the values of a sort of keys alone.
struct NoValue {};

}  // namespace heddle::detail
