#pragma once

// SHA-256 (FIPS 180-4) for portable kernels: of 4096-byte blocks, the blocks of fs-verity, and of
// messages of any length.
//
// On a CPU with SHA instructions it uses those, two blocks at a time (sha256_cpu.cpp). On other
// CPUs it uses the widest registers, eight or sixteen blocks at a time (sha256_wide.cpp). On a GPU
// it uses the arithmetic of sha256_rounds.hpp, one thread per block. All functions are thread-safe.

#include <cstddef>
#include <cstdint>

#include "sha256_rounds.hpp"

namespace heddle::tool {

inline constexpr std::size_t sha256_bytes = 32;          ///< bytes of a digest
inline constexpr std::size_t sha256_block_bytes = 4096;  ///< bytes of a block

/// The ways in which a CPU computes SHA-256. All produce the same digests.
enum class Sha256Path {
    portable,      ///< integer arithmetic, one message at a time
    lanes8,        ///< AVX2, eight blocks at a time
    lanes16,       ///< AVX-512, sixteen blocks at a time
    instructions,  ///< x86 SHA extensions, two messages at a time
};

/// All paths, slowest first.
inline constexpr Sha256Path sha256_paths[] = {Sha256Path::portable, Sha256Path::lanes8,
                                              Sha256Path::lanes16, Sha256Path::instructions};

/// Returns whether this CPU has a path and the operating system enables it.
bool sha256_has_path(Sha256Path path);

/// Returns the fastest path of this CPU. Queries the CPU once.
Sha256Path sha256_best_path();

/// Hashes `count` consecutive 4096-byte blocks at `data` by a path that this CPU has. Writes 32
/// bytes per block to `digests`. For tests and benchmarks. Host only.
void sha256_blocks_by(Sha256Path path, const std::uint8_t* data, std::size_t count,
                      std::uint8_t* digests);

/// Hashes `size` bytes by a path that this CPU has. Paths for many blocks at once use the portable
/// one, because they gain nothing on a single message. Host only.
void sha256_by(Sha256Path path, const std::uint8_t* data, std::size_t size, std::uint8_t* digest);

/// Hashes two 4096-byte blocks. With SHA instructions this takes about 1.4 times as long as one
/// block, because each block's instructions fill the other's latency. Without them it hashes one
/// after the other. Host only.
void sha256_2x4096(const std::uint8_t* first, const std::uint8_t* second,
                   std::uint8_t* first_digest, std::uint8_t* second_digest);

namespace detail {

/// Loads the sixteen big-endian words of the 64 bytes at `data`, which must be aligned to 16 bytes
/// on a GPU.
HEDDLE_FN inline void load_aligned_words(const std::uint8_t* data, std::uint32_t (&w)[16]) {
#ifdef __CUDA_ARCH__
    const uint4* quads = reinterpret_cast<const uint4*>(data);
    for (int i = 0; i < 4; ++i) {  // reads whole 32-byte sectors, each fetched once
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

/// Writes the state as a digest, most significant byte first. On a GPU `digest` must be aligned to
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

/// Hashes one 4096-byte block without special instructions.
HEDDLE_FN inline void sha256_block_portable(const std::uint8_t* data, std::uint8_t* digest) {
    constexpr int steps = static_cast<int>(sha256_block_bytes / 64);
    std::uint32_t state[8];
    std::uint32_t next[16];
    sha256_start(state);
    load_aligned_words(data, next);
    // The padding is a step like any other, so that there is only one copy of the code.
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int step = 0; step <= steps; ++step) {
        std::uint32_t w[16];
        for (int i = 0; i < 16; ++i) w[i] = next[i];
        const int ahead = step < steps - 1 ? step + 1 : steps - 1;
        load_aligned_words(data + 64 * ahead, next);  // arrives while this step computes
        if (step >= steps - 1) {
            for (int i = 1; i < 15; ++i) next[i] = 0;
            next[0] = 0x80000000;
            next[15] = 8 * sha256_block_bytes;
        }
        sha256_compress(state, w);
    }
    store_digest(state, digest);
}

/// Returns byte `at` of the padded message: the message, a one bit, zeros, and its length in bits
/// as the last eight bytes.
HEDDLE_FN inline std::uint8_t padded_byte(const std::uint8_t* data, std::uint64_t size,
                                          std::uint64_t end, std::uint64_t at) {
    if (at < size) return data[at];
    if (at == size) return 0x80;
    return at < end - 8 ? std::uint8_t{0}
                        : static_cast<std::uint8_t>((8 * size) >> (8 * (end - 1 - at)));
}

/// Hashes `size` bytes without special instructions. `data` may have any alignment.
HEDDLE_FN inline void sha256_portable(const std::uint8_t* data, std::uint64_t size,
                                      std::uint8_t* digest) {
    const std::uint64_t end = (size + 8) / 64 * 64 + 64;
    std::uint32_t state[8];
    sha256_start(state);
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (std::uint64_t at = 0; at < end; at += 64) {
        std::uint32_t w[16];
        for (unsigned i = 0; i < 16; ++i) {
            w[i] = 0;
            for (unsigned j = 0; j < 4; ++j)
                w[i] = (w[i] << 8) | padded_byte(data, size, end, at + 4 * i + j);
        }
        sha256_compress(state, w);
    }
    store_digest(state, digest);
}

}  // namespace detail

/// Hashes the 4096 bytes at `data` into 32 bytes at `digest`. On a GPU `data` must be aligned to 16
/// bytes and `digest` to 4, and nothing may write to `data` while the kernel runs.
HEDDLE_FN inline void sha256_block4096(const std::uint8_t* data, std::uint8_t* digest) {
#ifdef __CUDA_ARCH__
    detail::sha256_block_portable(data, digest);
#else
    sha256_blocks_by(sha256_best_path(), data, 1, digest);
#endif
}

/// Hashes `count` consecutive 4096-byte blocks, 32 bytes each, with the alignment of
/// sha256_block4096(). A CPU hashes two, eight or sixteen blocks at a time, so `count` should be a
/// multiple of 16.
HEDDLE_FN inline void sha256_blocks4096(const std::uint8_t* data, std::size_t count,
                                        std::uint8_t* digests) {
#ifdef __CUDA_ARCH__
    for (std::size_t i = 0; i < count; ++i)
        detail::sha256_block_portable(data + i * sha256_block_bytes, digests + i * sha256_bytes);
#else
    sha256_blocks_by(sha256_best_path(), data, count, digests);
#endif
}

/// The body of a portable kernel over `count` blocks in groups of `group`: index `i` hashes the
/// blocks [i * group, (i + 1) * group), as far as they exist. Launch over ceil(count / group)
/// indices. Use a `group` of 1 on a GPU, where every block needs a thread, and a multiple of 16 on
/// a CPU.
///
/// On a GPU thread blocks should be small: 128 threads, at most 256. A single warp nearly fills one
/// of a multiprocessor's four schedulers: 1500 instructions per 64 bytes, 1300 of them on a pipe
/// that takes one every second cycle. From those counts a launch on an H200 should take 85 to 115
/// us for any number of blocks, until each of 528 schedulers has a warp (66 MiB of input). With
/// thread blocks of 1024 a 16 MiB chunk would occupy four multiprocessors and take several times as
/// long.
HEDDLE_FN inline void sha256_block_group(std::size_t i, std::size_t group, const std::uint8_t* data,
                                         std::size_t count, std::uint8_t* digests) {
    const std::size_t begin = i * group;
    if (begin >= count) return;
    const std::size_t left = count - begin;
    sha256_blocks4096(data + begin * sha256_block_bytes, left < group ? left : group,
                      digests + begin * sha256_bytes);
}

/// Hashes `size` bytes of any alignment into 32 bytes. For short messages, such as a descriptor.
HEDDLE_FN inline void sha256(const std::uint8_t* data, std::size_t size, std::uint8_t* digest) {
#ifdef __CUDA_ARCH__
    detail::sha256_portable(data, size, digest);
#else
    sha256_by(sha256_best_path(), data, size, digest);
#endif
}

}  // namespace heddle::tool
