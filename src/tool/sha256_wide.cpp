// SHA-256 on x86-64 processors that have wide registers but no SHA instructions. Word i of a
// register belongs to block i. There are eight blocks with AVX2, and sixteen with AVX-512.
//
// The common code consists of templates that use the compilers' vector types and have no target
// attribute. They are always inlined into one of two functions that have a target attribute.
// Vectors are passed by reference only, because the calling convention for vectors depends on the
// target.

#include "sha256_wide.hpp"

#include "sha256.hpp"

#if defined(__x86_64__)

#include <algorithm>
#include <cstring>
#include <utility>

#define HEDDLE_INLINE [[gnu::always_inline]] inline

namespace heddle::tool::detail {
namespace {

using Words4 [[gnu::vector_size(16)]] = std::uint32_t;
using Words8 [[gnu::vector_size(32)]] = std::uint32_t;
using Words16 [[gnu::vector_size(64)]] = std::uint32_t;
using Bytes32 [[gnu::vector_size(32)]] = std::uint8_t;
using Bytes64 [[gnu::vector_size(64)]] = std::uint8_t;

/// Computes the xor of three rotations to the right.
template <int i, int j, int k, class Words>
HEDDLE_INLINE void rotations(Words& to, const Words& x) {
    to = ((x >> i) | (x << (32 - i))) ^ ((x >> j) | (x << (32 - j))) ^ ((x >> k) | (x << (32 - k)));
}

/// Computes the xor of two rotations and a shift to the right.
template <int i, int j, int shift, class Words>
HEDDLE_INLINE void rotations_shift(Words& to, const Words& x) {
    to = ((x >> i) | (x << (32 - i))) ^ ((x >> j) | (x << (32 - j))) ^ (x >> shift);
}

/// Computes round `r`, like sha256_round() in sha256_rounds.hpp. `b_xor_c` must be a ^ b of the
/// previous round, which is b ^ c of this round. Sets `b_xor_c` for the next round.
template <std::size_t r, class Words>
HEDDLE_INLINE void lanes_round(Words (&v)[8], Words (&w)[16], Words& b_xor_c) {
    constexpr std::size_t base = 64 - r;
    constexpr std::uint32_t k = sha256_k[r];
    Words& word = w[r % 16];
    if constexpr (r >= 16) {
        Words far;
        Words near;
        rotations_shift<7, 18, 3>(far, w[(r + 1) % 16]);
        rotations_shift<17, 19, 10>(near, w[(r + 14) % 16]);
        word += far + w[(r + 9) % 16] + near;
    }
    const Words& a = v[base % 8];
    const Words& b = v[(base + 1) % 8];
    Words& d = v[(base + 3) % 8];
    const Words& e = v[(base + 4) % 8];
    const Words& f = v[(base + 5) % 8];
    const Words& g = v[(base + 6) % 8];
    Words& h = v[(base + 7) % 8];
    Words sum1;
    Words sum0;
    rotations<6, 11, 25>(sum1, e);
    rotations<2, 13, 22>(sum0, a);
    h += word + k;
    h += sum1 + (g ^ (e & (f ^ g)));
    d += h;
    const Words a_xor_b = a ^ b;
    h += sum0 + (b ^ (a_xor_b & b_xor_c));  // the majority of a, b and c
    b_xor_c = a_xor_b;
}

template <class Words, std::size_t... r>
HEDDLE_INLINE void lanes_rounds(Words (&v)[8], Words (&w)[16], std::index_sequence<r...>) {
    Words b_xor_c = v[1] ^ v[2];
    (lanes_round<r>(v, w, b_xor_c), ...);
}

HEDDLE_INLINE void load(Words4& to, const std::uint8_t* from) { std::memcpy(&to, from, sizeof to); }

/// Loads the sixteen bytes at `at` from each fourth block. Stores them one after the other.
HEDDLE_INLINE void load_column(Words8& to, const std::uint8_t* const* blocks, std::size_t at) {
    Words4 x0, x1;
    load(x0, blocks[0] + at);
    load(x1, blocks[4] + at);
    to = __builtin_shufflevector(x0, x1, 0, 1, 2, 3, 4, 5, 6, 7);
}

HEDDLE_INLINE void load_column(Words16& to, const std::uint8_t* const* blocks, std::size_t at) {
    Words8 low, high;
    load_column(low, blocks, at);
    load_column(high, blocks + 8, at);
    to = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

// Each of these functions takes the lower or upper half of every four words of `x` and `y`, and
// interleaves the halves by single words or by pairs.
HEDDLE_INLINE void low_words(Words8& to, const Words8& x, const Words8& y) {
    to = __builtin_shufflevector(x, y, 0, 8, 1, 9, 4, 12, 5, 13);
}
HEDDLE_INLINE void high_words(Words8& to, const Words8& x, const Words8& y) {
    to = __builtin_shufflevector(x, y, 2, 10, 3, 11, 6, 14, 7, 15);
}
HEDDLE_INLINE void low_pairs(Words8& to, const Words8& x, const Words8& y) {
    to = __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13);
}
HEDDLE_INLINE void high_pairs(Words8& to, const Words8& x, const Words8& y) {
    to = __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15);
}
HEDDLE_INLINE void low_words(Words16& to, const Words16& x, const Words16& y) {
    to = __builtin_shufflevector(x, y, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
}
HEDDLE_INLINE void high_words(Words16& to, const Words16& x, const Words16& y) {
    to = __builtin_shufflevector(x, y, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
}
HEDDLE_INLINE void low_pairs(Words16& to, const Words16& x, const Words16& y) {
    to = __builtin_shufflevector(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
}
HEDDLE_INLINE void high_pairs(Words16& to, const Words16& x, const Words16& y) {
    to = __builtin_shufflevector(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}

#define HEDDLE_SWAP_16(n)                                                                          \
    n + 3, n + 2, n + 1, n, n + 7, n + 6, n + 5, n + 4, n + 11, n + 10, n + 9, n + 8, n + 15,      \
        n + 14, n + 13, n + 12
HEDDLE_INLINE void swap_words(Words8& x) {
    const Bytes32 bytes = reinterpret_cast<Bytes32>(x);
    x = reinterpret_cast<Words8>(
        __builtin_shufflevector(bytes, bytes, HEDDLE_SWAP_16(0), HEDDLE_SWAP_16(16)));
}
HEDDLE_INLINE void swap_words(Words16& x) {
    const Bytes64 bytes = reinterpret_cast<Bytes64>(x);
    x = reinterpret_cast<Words16>(__builtin_shufflevector(bytes, bytes, HEDDLE_SWAP_16(0),
                                                          HEDDLE_SWAP_16(16), HEDDLE_SWAP_16(32),
                                                          HEDDLE_SWAP_16(48)));
}
#undef HEDDLE_SWAP_16

/// Loads the 64 bytes at `at` from every block as big-endian words.
template <std::size_t lanes, class Words>
HEDDLE_INLINE void load_words(Words (&w)[16], const std::uint8_t* const (&blocks)[lanes],
                              std::size_t at) {
    // Loads all bytes of a few blocks before those of the next ones: the blocks are 4096 bytes
    // apart, and a first-level cache holds hardly more than eight lines at such addresses.
    for (std::size_t j = 0; j < 4; ++j)
        for (std::size_t i = 0; i < 4; ++i) load_column(w[4 * i + j], blocks + j, at + 16 * i);
    for (std::size_t i = 0; i < 16; i += 4) {
        Words x0, x1, x2, x3;
        low_words(x0, w[i], w[i + 1]);
        high_words(x1, w[i], w[i + 1]);
        low_words(x2, w[i + 2], w[i + 3]);
        high_words(x3, w[i + 2], w[i + 3]);
        low_pairs(w[i], x0, x2);
        high_pairs(w[i + 1], x0, x2);
        low_pairs(w[i + 2], x1, x3);
        high_pairs(w[i + 3], x1, x3);
    }
    for (std::size_t i = 0; i < 16; ++i) swap_words(w[i]);
}

/// Hashes `lanes` blocks. Does not prefetch: reading many blocks in parallel already hides the
/// memory's latency, and prefetching was not faster.
template <std::size_t lanes, class Words>
HEDDLE_INLINE void hash_lanes(const std::uint8_t* const (&blocks)[lanes],
                              std::uint8_t* const (&digests)[lanes]) {
    constexpr std::size_t steps = sha256_block_bytes / 64;
    Words state[8];
    for (std::size_t i = 0; i < 8; ++i) state[i] = Words{} + sha256_initial[i];
    for (std::size_t step = 0; step <= steps; ++step) {
        Words w[16];
        if (step < steps) {
            load_words<lanes>(w, blocks, 64 * step);
        } else {  // the padding: a one bit, zeros, and the length
            for (std::size_t i = 0; i < 16; ++i) w[i] = Words{};
            w[0] += 0x80000000U;
            w[15] += static_cast<std::uint32_t>(8 * sha256_block_bytes);
        }
        Words v[8];
        for (std::size_t i = 0; i < 8; ++i) v[i] = state[i];
        lanes_rounds(v, w, std::make_index_sequence<64>{});
        for (std::size_t i = 0; i < 8; ++i) state[i] += v[i];
    }
    std::uint32_t words[8][lanes];
    std::memcpy(words, state, sizeof words);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        std::uint32_t digest[8];
        for (std::size_t i = 0; i < 8; ++i) digest[i] = words[i][lane];
        store_digest(digest, digests[lane]);
    }
}

/// Hashes consecutive blocks, `lanes` at a time. If the last group is incomplete, its unused lanes
/// hash the last block again.
template <std::size_t lanes, class Words>
HEDDLE_INLINE void hash_run(const std::uint8_t* data, std::size_t count, std::uint8_t* digests) {
    for (std::size_t first = 0; first < count; first += lanes) {
        const std::uint8_t* from[lanes];
        std::uint8_t* to[lanes];
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const std::size_t i = std::min(first + lane, count - 1);
            from[lane] = data + i * sha256_block_bytes;
            to[lane] = digests + i * sha256_bytes;
        }
        hash_lanes<lanes, Words>(from, to);
    }
}

}  // namespace

bool sha256_has_lanes8() { return __builtin_cpu_supports("avx2") != 0; }

bool sha256_has_lanes16() {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
}

[[gnu::target("avx2")]] void sha256_lanes8(const std::uint8_t* data, std::size_t count,
                                           std::uint8_t* digests) {
    hash_run<8, Words8>(data, count, digests);
}

[[gnu::target("avx512f,avx512bw")]] void sha256_lanes16(const std::uint8_t* data, std::size_t count,
                                                        std::uint8_t* digests) {
    hash_run<16, Words16>(data, count, digests);
}

}  // namespace heddle::tool::detail

#else  // never called

namespace heddle::tool::detail {

bool sha256_has_lanes8() { return false; }

bool sha256_has_lanes16() { return false; }

void sha256_lanes8(const std::uint8_t* data, std::size_t count, std::uint8_t* digests) {
    for (std::size_t i = 0; i < count; ++i)
        sha256_block_portable(data + i * sha256_block_bytes, digests + i * sha256_bytes);
}

void sha256_lanes16(const std::uint8_t* data, std::size_t count, std::uint8_t* digests) {
    sha256_lanes8(data, count, digests);
}

}  // namespace heddle::tool::detail

#endif
