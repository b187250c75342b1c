#pragma once

// The compression function of SHA-256 (FIPS 180-4, section 6.2) as plain integer arithmetic, for
// GPUs. The round's number is a template parameter. So round constants become immediates, and the
// working variables and the message schedule stay in registers.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#ifndef HEDDLE_FN  // also defined by <heddle/kernel.hpp>
#ifdef __CUDACC__
#define HEDDLE_FN __host__ __device__
#else
#define HEDDLE_FN
#endif
#endif

namespace heddle::tool::detail {

/// The round constants: the first 32 bits of the fractional parts of the cube roots of the first 64
/// primes.
inline constexpr std::uint32_t sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
    0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,  //
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,  //
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,  //
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,  //
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,  //
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,  //
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
    0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,  //
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/// The initial state: the first 32 bits of the fractional parts of the square roots of the first 8
/// primes.
inline constexpr std::uint32_t sha256_initial[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

template <std::size_t... i>
HEDDLE_FN inline void sha256_start(std::uint32_t (&state)[8], std::index_sequence<i...>) {
    ((state[i] = std::integral_constant<std::uint32_t, sha256_initial[i]>::value), ...);
}

/// Sets the initial state.
HEDDLE_FN inline void sha256_start(std::uint32_t (&state)[8]) {
    sha256_start(state, std::make_index_sequence<8>{});
}

template <int n> HEDDLE_FN inline std::uint32_t rotate_right(std::uint32_t x) {
#ifdef __CUDA_ARCH__
    return __funnelshift_r(x, x, n);
#else
    return (x >> n) | (x << (32 - n));
#endif
}

HEDDLE_FN inline std::uint32_t swap_bytes(std::uint32_t x) {
#ifdef __CUDA_ARCH__
    return __byte_perm(x, 0, 0x0123);
#else
    return __builtin_bswap32(x);
#endif
}

/// Computes round `r`. The eight working variables are not moved; instead, their names rotate: `a`
/// of round r is v[-r mod 8]. `w` is a ring of the latest sixteen words of the message schedule.
template <std::size_t r>
HEDDLE_FN [[gnu::always_inline]] inline void sha256_round(std::uint32_t (&v)[8],
                                                          std::uint32_t (&w)[16]) {
    constexpr std::size_t base = 64 - r;
    constexpr std::uint32_t k = sha256_k[r];
    std::uint32_t& word = w[r % 16];
    if constexpr (r >= 16) {
        const std::uint32_t near = w[(r + 14) % 16];
        const std::uint32_t far = w[(r + 1) % 16];
        word += (rotate_right<7>(far) ^ rotate_right<18>(far) ^ (far >> 3)) + w[(r + 9) % 16] +
                (rotate_right<17>(near) ^ rotate_right<19>(near) ^ (near >> 10));
    }
    const std::uint32_t a = v[base % 8];
    const std::uint32_t b = v[(base + 1) % 8];
    const std::uint32_t c = v[(base + 2) % 8];
    std::uint32_t& d = v[(base + 3) % 8];
    const std::uint32_t e = v[(base + 4) % 8];
    const std::uint32_t f = v[(base + 5) % 8];
    const std::uint32_t g = v[(base + 6) % 8];
    std::uint32_t& h = v[(base + 7) % 8];
    h += k + word;  // does not depend on the previous round, unlike the rest
    const std::uint32_t mixed =
        (rotate_right<6>(e) ^ rotate_right<11>(e) ^ rotate_right<25>(e)) + (g ^ (e & (f ^ g)));
    d += h + mixed;
    h += mixed + (rotate_right<2>(a) ^ rotate_right<13>(a) ^ rotate_right<22>(a)) +
         ((a & b) | (c & (a | b)));
}

template <std::size_t... r>
HEDDLE_FN [[gnu::always_inline]] inline void sha256_rounds(std::uint32_t (&v)[8],
                                                           std::uint32_t (&w)[16],
                                                           std::index_sequence<r...>) {
    (sha256_round<r>(v, w), ...);
}

/// Adds one 64-byte block, as sixteen big-endian words, to the state. Overwrites `w`.
HEDDLE_FN [[gnu::always_inline]] inline void sha256_compress(std::uint32_t (&state)[8],
                                                             std::uint32_t (&w)[16]) {
    std::uint32_t v[8] = {state[0], state[1], state[2], state[3],
                          state[4], state[5], state[6], state[7]};
    sha256_rounds(v, w, std::make_index_sequence<64>{});
    for (int i = 0; i < 8; ++i) state[i] += v[i];
}

}  // namespace heddle::tool::detail
