// The element types of reductions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <heddle/collective/reduce_op.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {

enum class ElementType : std::uint8_t { bytes, f16, bf16, f32, f64, i8, u8, i32, u32, i64, u64 };
constexpr bool is_floating(ElementType type) noexcept {
    return type >= ElementType::f16 && type <= ElementType::f64;
}

/// Returns the element type of a reduction over T, or `bytes` if reductions do not take T.
template <class T> constexpr ElementType element_type() noexcept {
    if constexpr (half_kind<T> != HalfKind::none) {
        static_assert(sizeof(T) == 2,
                      "heddle::half_kind: a type with a half_kind must have 16 bits");
        return half_kind<T> == HalfKind::ieee ? ElementType::f16 : ElementType::bf16;
    } else if constexpr (std::is_same_v<T, float>) return ElementType::f32;
    else if constexpr (std::is_same_v<T, double>) return ElementType::f64;
    else if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) return ElementType::bytes;
    else if constexpr (sizeof(T) == 1)
        return std::is_signed_v<T> ? ElementType::i8 : ElementType::u8;
    else if constexpr (sizeof(T) == 4)
        return std::is_signed_v<T> ? ElementType::i32 : ElementType::u32;
    else if constexpr (sizeof(T) == 8)
        return std::is_signed_v<T> ? ElementType::i64 : ElementType::u64;
    else return ElementType::bytes;
}

inline constexpr std::size_t max_ranks = 64;

}  // namespace detail

}  // namespace heddle
