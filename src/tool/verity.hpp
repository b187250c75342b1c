#pragma once

// The shape of a file's Merkle tree and its descriptor, as fs-verity of the Linux kernel defines them
// (Documentation/filesystems/fsverity.rst), for SHA-256, 4096-byte blocks and no salt.
//
// The file is cut into blocks, the last one filled up with zeros, and each is hashed. The digests, in order,
// 128 to a block, the last block again filled up with zeros, are the first level of the tree; the digests of
// that level's blocks are the next, until a level is one block. The hash of that block, or of the file's only
// block where there is no level at all, is the root hash; that of an empty file is zero. What names the file
// is the hash of a descriptor that holds the root hash and the file's size.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sha256.hpp"

namespace heddle::tool {

using Sha256Digest = std::array<std::uint8_t, sha256_bytes>;

inline constexpr std::uint64_t digests_per_block = sha256_block_bytes / sha256_bytes;  // 128
inline constexpr int max_verity_levels = 8;  ///< Enough for 2^64 bytes: 52 bits of blocks, 7 bits a level.

/// How many blocks of 4096 bytes hold `bytes`.
constexpr std::uint64_t verity_blocks(std::uint64_t bytes) {
    return bytes / sha256_block_bytes + (bytes % sha256_block_bytes != 0 ? 1 : 0);
}

/// The shape of the tree over a file: how many levels, and how many blocks in each.
///
/// Level 0 is the file, level 1 the digests of its blocks, and so on. Every level from 1 on is kept as whole
/// blocks: where the digests of level l - 1 end, zeros fill the last block of level l.
class VerityTree {
public:
    explicit constexpr VerityTree(std::uint64_t file_bytes) : file_bytes_{file_bytes} {
        blocks_[0] = verity_blocks(file_bytes);
        while (blocks_[static_cast<std::size_t>(levels_)] > 1) {
            const std::uint64_t below = blocks_[static_cast<std::size_t>(levels_)];
            ++levels_;
            blocks_[static_cast<std::size_t>(levels_)] = (below + digests_per_block - 1) / digests_per_block;
        }
    }

    /// Size of the file, in bytes.
    constexpr std::uint64_t file_bytes() const { return file_bytes_; }

    /// Levels above the file: 0 for a file of at most one block. The top level is one block, whose hash is
    /// the root.
    constexpr int levels() const { return levels_; }

    /// Blocks in a level, 0 (the file itself) to levels().
    constexpr std::uint64_t blocks(int level) const { return blocks_[static_cast<std::size_t>(level)]; }

    /// Bytes a level takes as whole blocks.
    constexpr std::uint64_t bytes(int level) const { return blocks(level) * sha256_block_bytes; }

    /// Bytes of digests in a level from 1 on: what hashing the level below writes. Zeros follow, up to
    /// bytes(level).
    constexpr std::uint64_t digest_bytes(int level) const { return blocks(level - 1) * sha256_bytes; }

    /// Bytes of all levels above the file.
    constexpr std::uint64_t tree_bytes() const {
        std::uint64_t sum = 0;
        for (int level = 1; level <= levels_; ++level) sum += bytes(level);
        return sum;
    }

private:
    std::uint64_t file_bytes_;
    int levels_ = 0;
    std::array<std::uint64_t, max_verity_levels + 1> blocks_{};
};

/// The kernel's `struct fsverity_descriptor`, 256 bytes: version, hash algorithm, binary logarithm of the
/// block size, size of the salt, 4 reserved bytes, size of the file (8 bytes, least significant first), root
/// hash (64 bytes, of which SHA-256 takes the first 32), salt (32), reserved (144).
constexpr std::array<std::uint8_t, 256> verity_descriptor(std::uint64_t file_bytes,
                                                          const Sha256Digest& root) {
    std::array<std::uint8_t, 256> descriptor{};
    descriptor[0] = 1;   // version
    descriptor[1] = 1;   // FS_VERITY_HASH_ALG_SHA256
    descriptor[2] = 12;  // 4096-byte blocks
    for (std::size_t i = 0; i < 8; ++i) descriptor[8 + i] = static_cast<std::uint8_t>(file_bytes >> (8 * i));
    for (std::size_t i = 0; i < sha256_bytes; ++i) descriptor[16 + i] = root[i];
    return descriptor;
}

/// The file's fs-verity digest, from its size and the root hash of its tree (zeros for an empty file).
inline Sha256Digest verity_digest(std::uint64_t file_bytes, const Sha256Digest& root) {
    const std::array<std::uint8_t, 256> descriptor = verity_descriptor(file_bytes, root);
    Sha256Digest digest{};
    sha256(descriptor.data(), descriptor.size(), digest.data());
    return digest;
}

/// A digest in lower-case hexadecimal.
inline std::string to_hex(const Sha256Digest& digest) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * sha256_bytes);
    for (const std::uint8_t byte : digest) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

/// The line that `fsverity digest` prints for a file, without its newline; the path is printed as given.
inline std::string verity_line(const Sha256Digest& digest, std::string_view path) {
    return "sha256:" + to_hex(digest) + " " + std::string{path};
}

}  // namespace heddle::tool
