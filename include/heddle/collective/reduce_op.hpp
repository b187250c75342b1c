// Reductions, and the 16-bit floating-point types that they accept.
#pragma once

#include <cstdint>

#include <heddle/detail/visible.hpp>

struct __half;  // CUDA's, in cuda_fp16.h and cuda_bf16.h
struct __nv_bfloat16;

namespace heddle HEDDLE_VISIBLE {

/// Kinds of 16-bit floating-point numbers: IEEE half (11 bits of precision), or the upper half of a
/// float (8 bits).
enum class HalfKind : std::uint8_t { none, ieee, brain };
/// How reductions interpret a 16-bit type. `__half` and `__nv_bfloat16` are known; specialise it
/// for other types with the same representation (`std::float16_t`, `_Float16`, your own).
template <class T> inline constexpr HalfKind half_kind = HalfKind::none;
/// CUDA's `__half` has the IEEE format.
template <> inline constexpr HalfKind half_kind<__half> = HalfKind::ieee;
/// CUDA's `__nv_bfloat16` is the upper half of a float.
template <> inline constexpr HalfKind half_kind<__nv_bfloat16> = HalfKind::brain;

/// How a reduction combines elements. Integer results wrap. If any operand is NaN, `min` and `max`
/// are NaN. `average` is the sum divided by the number of ranks; for floating-point types only.
enum class ReduceOp : std::uint8_t { sum, product, min, max, average };

/// Returns the name of a ReduceOp: "sum", "product", "min", "max" or "average".
const char* to_string(ReduceOp op) noexcept;

}  // namespace heddle
