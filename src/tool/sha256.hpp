#pragma once

// SHA-256 (FIPS 180-4) of 4096-byte blocks, as fs-verity needs, for a portable kernel.
//
// A GPU uses the arithmetic of sha256_rounds.hpp, with one thread for each block. A CPU calls
// libcrypto. All functions are thread-safe.

#include <cstddef>
#include <cstdint>

#include "sha256_rounds.hpp"

namespace heddle::tool {

inline constexpr std::size_t sha256_bytes = 32;          ///< bytes of a digest
inline constexpr std::size_t sha256_block_bytes = 4096;  ///< bytes of a block

/// Hashes `size` bytes into 32 bytes. Throws std::runtime_error if libcrypto fails. Host only.
void sha256(const std::uint8_t* data, std::size_t size, std::uint8_t* digest);

/// Hashes `count` consecutive 4096-byte blocks into 32 bytes each. Throws std::runtime_error if
/// libcrypto fails. Host only.
void sha256_blocks(const std::uint8_t* data, std::size_t count, std::uint8_t* digests);

namespace detail {

/// Loads 64 bytes as sixteen big-endian words. GPU code requires `data` to be aligned to 16 bytes.
HEDDLE_FN inline void load_aligned_words(const std::uint8_t* data, std::uint32_t (&w)[16]) {
#ifdef __CUDA_ARCH__
    const uint4* quads = reinterpret_cast<const uint4*>(data);
    for (int i = 0; i < 4; ++i) {  // each 32-byte sector of memory is fetched once
        const uint4 quad = __ldg(quads + i);
        w[4 * i] = swap_bytes(quad.x);
        w[4 * i + 1] = swap_bytes(quad.y);
        w[4 * i + 2] = swap_bytes(quad.z);
        w[4 * i + 3] = swap_bytes(quad.w);
    }
#else
    for (int i = 0; i < 16; ++i) {
        std::uint32_t word;
        __builtin_memcpy(&word, data + 4 * i, 4);
        w[i] = swap_bytes(word);
    }
#endif
}

/// Writes the state as a digest, most significant byte first. On a GPU, `digest` must be aligned to
/// 4 bytes.
HEDDLE_FN inline void store_digest(const std::uint32_t (&state)[8], std::uint8_t* digest) {
    for (int i = 0; i < 8; ++i) {
        const std::uint32_t word = swap_bytes(state[i]);
#ifdef __CUDA_ARCH__
        reinterpret_cast<std::uint32_t*>(digest)[i] = word;
#else
        __builtin_memcpy(digest + 4 * i, &word, 4);
#endif
    }
}

}  // namespace detail

/// Hashes the 4096 bytes at `data` into 32 bytes at `digest`, as a GPU does. There, `data` must be
/// aligned to 16 bytes and `digest` to 4 bytes, and nothing may write to `data` while the kernel
/// runs.
HEDDLE_FN inline void sha256_block(const std::uint8_t* data, std::uint8_t* digest) {
    constexpr int steps = static_cast<int>(sha256_block_bytes / 64);
    std::uint32_t state[8];
    std::uint32_t next[16];
    detail::sha256_start(state);
    detail::load_aligned_words(data, next);
    // The last step hashes the padding, in the same loop. So the code exists only once.
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int step = 0; step <= steps; ++step) {
        std::uint32_t w[16];
        for (int i = 0; i < 16; ++i) w[i] = next[i];
        const int ahead = step < steps - 1 ? step + 1 : steps - 1;
        // Loads for the next step while this step computes.
        detail::load_aligned_words(data + 64 * ahead, next);
        if (step >= steps - 1) {
            for (int i = 1; i < 15; ++i) next[i] = 0;
            next[0] = 0x80000000;
            next[15] = 8 * sha256_block_bytes;
        }
        detail::sha256_compress(state, w);
    }
    detail::store_digest(state, digest);
}

/// The body of a portable kernel that hashes `count` blocks in groups of `group`. Index `i` hashes
/// the blocks [i * group, (i + 1) * group), except those beyond `count`. Launch it over ceil(count
/// / group) indices. Use a `group` of 1 on a GPU, so that every block has a thread. On a CPU, a
/// group of 16 is enough.
///
/// On a GPU, thread blocks should be small: 128 threads, at most 256. A multiprocessor has four
/// schedulers, and a single warp nearly fills one of them. It needs 1500 instructions per 64 bytes,
/// 1300 of them on a pipe that accepts one every second cycle. By these counts, a launch on an H200
/// takes 85 to 115 us for any number of blocks, until each of its 528 schedulers has a warp (66 MiB
/// of input). With thread blocks of 1024, a 16 MiB chunk would occupy only four multiprocessors,
/// and take several times as long.
HEDDLE_FN inline void sha256_block_group(std::size_t i, std::size_t group, const std::uint8_t* data,
                                         std::size_t count, std::uint8_t* digests) {
    const std::size_t begin = i * group;
    if (begin >= count) return;
    const std::size_t left = count - begin;
    const std::size_t blocks = left < group ? left : group;
    const std::uint8_t* const from = data + begin * sha256_block_bytes;
    std::uint8_t* const to = digests + begin * sha256_bytes;
#ifdef __CUDA_ARCH__
    for (std::size_t b = 0; b < blocks; ++b)
        sha256_block(from + b * sha256_block_bytes, to + b * sha256_bytes);
#else
    sha256_blocks(from, blocks, to);
#endif
}

}  // namespace heddle::tool
