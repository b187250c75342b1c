// 16-bit floating-point numbers that need no CUDA headers. They are stored as bits, and computed as
// floats.
#pragma once

#include <bit>
#include <cstdint>

#include <heddle/kernel.hpp>

namespace heddle::detail {

HEDDLE_FN inline std::uint32_t bits_of(float x) {
#ifdef __CUDA_ARCH__
    return __float_as_uint(x);
#else
    return std::bit_cast<std::uint32_t>(x);
#endif
}
HEDDLE_FN inline float float_of(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
    return __uint_as_float(bits);
#else
    return std::bit_cast<float>(bits);
#endif
}

/// IEEE binary16: `__half`, `std::float16_t`.
struct Float16 {
    std::uint16_t bits;

    HEDDLE_FN static Float16 of(float x) {
        const std::uint32_t sign = bits_of(x) >> 16 & 0x8000, size = bits_of(x) & 0x7fffffff;
        if (size > 0x7f800000) return {static_cast<std::uint16_t>(sign | 0x7e00)};  // NaN
        // Below 2^-14, the result is subnormal: a multiple of 2^-24. Floats in [0.5, 1) are
        // multiples of 2^-24, too, so adding 0.5 rounds the value correctly.
        if (size < 0x38800000) {
            const std::uint32_t rounded = bits_of(float_of(size) + 0.5f) - bits_of(0.5f);
            return {static_cast<std::uint16_t>(sign | rounded)};
        }
        const std::uint32_t rounded = size + 0xfff + (size >> 13 & 1);
        if (rounded >= 0x47800000)
            // Values from 2^16 on become infinity.
            return {static_cast<std::uint16_t>(sign | 0x7c00)};
        return {static_cast<std::uint16_t>(sign | (rounded - 0x38000000) >> 13)};
    }
    HEDDLE_FN float value() const {
        const std::uint32_t sign = std::uint32_t{bits} << 16 & 0x80000000, fraction = bits & 0x3ff;
        const std::uint32_t exponent = bits >> 10 & 31u;
        if (exponent == 0) {
            const float small = static_cast<float>(fraction) * 0x1p-24f;
            return sign != 0 ? -small : small;
        }
        if (exponent == 31) return float_of(sign | 0x7f800000 | fraction << 13);
        return float_of(sign | (exponent + 112) << 23 | fraction << 13);
    }
};

/// The upper half of a float: `__nv_bfloat16`, `std::bfloat16_t`.
struct BFloat16 {
    std::uint16_t bits;

    HEDDLE_FN static BFloat16 of(float x) {
        const std::uint32_t all = bits_of(x);
        if ((all & 0x7fffffff) > 0x7f800000)
            return {static_cast<std::uint16_t>(all >> 16 | 0x40)};  // NaN
        return {static_cast<std::uint16_t>((all + 0x7fff + (all >> 16 & 1)) >> 16)};
    }
    HEDDLE_FN float value() const { return float_of(std::uint32_t{bits} << 16); }
};

}  // namespace heddle::detail
