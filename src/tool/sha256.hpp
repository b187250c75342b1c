#pragma once

// SHA-256 (FIPS 180-4) for portable kernels. Hashes 4096-byte blocks, as fs-verity needs, and
// messages of any length.
//
// A CPU with SHA instructions uses these for two blocks at a time (sha256_cpu.cpp). Other CPUs use
// their widest registers for eight or sixteen blocks at a time (sha256_wide.cpp). A GPU uses the
// arithmetic of sha256_rounds.hpp, with one thread for each block. All functions are thread-safe.

#include <cstddef>
#include <cstdint>

#include "sha256_rounds.hpp"

namespace heddle::tool {

inline constexpr std::size_t sha256_bytes = 32;          ///< bytes of a digest
inline constexpr std::size_t sha256_block_bytes = 4096;  ///< bytes of a block

/// The ways in which a CPU can compute SHA-256. Their results are the same.
enum class Sha256Path {
    portable,      ///< integer arithmetic, one message at a time
    lanes8,        ///< AVX2, eight blocks at a time
    lanes16,       ///< AVX-512, sixteen blocks at a time
    instructions,  ///< x86 SHA extensions, two messages at a time
};

/// All paths, from the slowest to the fastest.
inline constexpr Sha256Path sha256_paths[] = {Sha256Path::portable, Sha256Path::lanes8,
                                              Sha256Path::lanes16, Sha256Path::instructions};

/// Returns whether this CPU has the path's instructions and the operating system enables them.
bool sha256_has_path(Sha256Path path);

/// Returns the fastest path on this CPU. Queries the CPU only once.
Sha256Path sha256_best_path();

/// Hashes `count` consecutive 4096-byte blocks at `data`. This CPU must support `path`. Writes 32
/// bytes for each block to `digests`. For tests and benchmarks. Host only.
void sha256_blocks_by(Sha256Path path, const std::uint8_t* data, std::size_t count,
                      std::uint8_t* digests);

/// Hashes `size` bytes. This CPU must support `path`. For a path that hashes many blocks at once,
/// uses the portable path, because a single message gains nothing from such a path. Host only.
void sha256_by(Sha256Path path, const std::uint8_t* data, std::size_t size, std::uint8_t* digest);

/// Hashes two 4096-byte blocks. With SHA instructions, this takes only about 1.4 times as long as
/// one block: while the instructions of one block wait for a result, the instructions of the other
/// run. Without SHA instructions, hashes one block after the other. Host only.
void sha256_2x4096(const std::uint8_t* first, const std::uint8_t* second,
                   std::uint8_t* first_digest, std::uint8_t* second_digest);

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

/// Hashes one 4096-byte block without special instructions.
HEDDLE_FN inline void sha256_block_portable(const std::uint8_t* data, std::uint8_t* digest) {
    constexpr int steps = static_cast<int>(sha256_block_bytes / 64);
    std::uint32_t state[8];
    std::uint32_t next[16];
    sha256_start(state);
    load_aligned_words(data, next);
    // The last step of the same loop hashes the padding. So the code exists only once.
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int step = 0; step <= steps; ++step) {
        std::uint32_t w[16];
        for (int i = 0; i < 16; ++i) w[i] = next[i];
        const int ahead = step < steps - 1 ? step + 1 : steps - 1;
        // Loads for the next step while this step computes.
        load_aligned_words(data + 64 * ahead, next);
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

/// Hashes the 4096 bytes at `data` into 32 bytes at `digest`. On a GPU, `data` must be aligned to
/// 16 bytes and `digest` to 4 bytes, and nothing may write to `data` while the kernel runs.
HEDDLE_FN inline void sha256_block4096(const std::uint8_t* data, std::uint8_t* digest) {
#ifdef __CUDA_ARCH__
    detail::sha256_block_portable(data, digest);
#else
    sha256_blocks_by(sha256_best_path(), data, 1, digest);
#endif
}

/// Hashes `count` consecutive 4096-byte blocks into 32 bytes each. Requires the same alignment as
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

/// The body of a portable kernel that hashes `count` blocks in groups of `group`. Index `i` hashes
/// the blocks [i * group, (i + 1) * group), except those beyond `count`. Launch the kernel over
/// ceil(count / group) indices. Use a `group` of 1 on a GPU, so that every block has a thread. On a
/// CPU, use a multiple of 16.
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
    sha256_blocks4096(data + begin * sha256_block_bytes, left < group ? left : group,
                      digests + begin * sha256_bytes);
}

/// Hashes `size` bytes into 32 bytes, with any alignment. For short messages.
HEDDLE_FN inline void sha256(const std::uint8_t* data, std::size_t size, std::uint8_t* digest) {
#ifdef __CUDA_ARCH__
    detail::sha256_portable(data, size, digest);
#else
    sha256_by(sha256_best_path(), data, size, digest);
#endif
}

}  // namespace heddle::tool
