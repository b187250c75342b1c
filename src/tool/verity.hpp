#pragma once

// The shape of a file's Merkle tree, and the file's descriptor. Both are defined by fs-verity of
// the Linux kernel (Documentation/filesystems/fsverity.rst), here for SHA-256, 4096-byte blocks and
// no salt.
//
// The file is split into blocks, with zeros at the end of the last block, and each block is hashed.
// These digests, in order, are the first level of the tree. A block of that level has 128 digests;
// zeros fill the last block. The digests of that level's blocks are the next level, and so on,
// until a level has just one block.
//
// The root hash is the hash of that single block. If the file has just one block, the root hash is
// the hash of the file's block. For an empty file, the root hash is zero. The file's digest is the
// hash of a descriptor that contains the root hash and the file's size.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sha256.hpp"

namespace heddle::tool {

using Sha256Digest = std::array<std::uint8_t, sha256_bytes>;

inline constexpr std::uint64_t digests_per_block = sha256_block_bytes / sha256_bytes;  // 128
/// Enough for a file of 2^64 bytes: its blocks have 52-bit numbers, and each level saves 7 bits.
inline constexpr int max_verity_levels = 8;

/// Returns the number of 4096-byte blocks that contain `bytes`.
constexpr std::uint64_t verity_blocks(std::uint64_t bytes) {
    return bytes / sha256_block_bytes + (bytes % sha256_block_bytes != 0 ? 1 : 0);
}

/// The shape of the tree over a file: the number of levels, and of blocks in each.
///
/// Level 0 is the file, level 1 consists of the digests of its blocks, and so on. All levels above
/// level 0 are stored as whole blocks: after the digests of level l - 1, zeros fill the last block
/// of level l.
class VerityTree {
public:
    explicit constexpr VerityTree(std::uint64_t file_bytes) : file_bytes_{file_bytes} {
        blocks_[0] = verity_blocks(file_bytes);
        while (blocks_[static_cast<std::size_t>(levels_)] > 1) {
            const std::uint64_t below = blocks_[static_cast<std::size_t>(levels_)];
            ++levels_;
            blocks_[static_cast<std::size_t>(levels_)] =
                (below + digests_per_block - 1) / digests_per_block;
        }
    }

    /// Returns the size of the file in bytes.
    constexpr std::uint64_t file_bytes() const { return file_bytes_; }

    /// Returns the number of levels above the file. It is 0 if the file has at most one block. The
    /// top level has one block, whose hash is the root.
    constexpr int levels() const { return levels_; }

    /// Returns the number of blocks in a level, from level 0 (the file itself) up to levels().
    constexpr std::uint64_t blocks(int level) const {
        return blocks_[static_cast<std::size_t>(level)];
    }

    /// Returns the size of a level in whole blocks, in bytes.
    constexpr std::uint64_t bytes(int level) const { return blocks(level) * sha256_block_bytes; }

    /// Returns the size of the digests in a level above level 0, in bytes. Hashing the level below
    /// writes these digests; zeros fill the rest of the level, up to bytes(level).
    constexpr std::uint64_t digest_bytes(int level) const {
        return blocks(level - 1) * sha256_bytes;
    }

    /// Returns the size of all levels above the file, in bytes.
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

/// Returns the kernel's `struct fsverity_descriptor`, 256 bytes. Its fields are: version, hash
/// algorithm, binary logarithm of the block size, size of the salt, 4 reserved bytes, size of the
/// file (8 bytes, least significant first), root hash (64 bytes, of which SHA-256 uses the first
/// 32), salt (32 bytes), and 144 reserved bytes.
constexpr std::array<std::uint8_t, 256> verity_descriptor(std::uint64_t file_bytes,
                                                          const Sha256Digest& root) {
    std::array<std::uint8_t, 256> descriptor{};
    descriptor[0] = 1;   // version
    descriptor[1] = 1;   // FS_VERITY_HASH_ALG_SHA256
    descriptor[2] = 12;  // 4096-byte blocks
    for (std::size_t i = 0; i < 8; ++i)
        descriptor[8 + i] = static_cast<std::uint8_t>(file_bytes >> (8 * i));
    for (std::size_t i = 0; i < sha256_bytes; ++i) descriptor[16 + i] = root[i];
    return descriptor;
}

/// Returns the file's fs-verity digest. `root` is the root hash of the file's tree, or zeros for an
/// empty file.
inline Sha256Digest verity_digest(std::uint64_t file_bytes, const Sha256Digest& root) {
    const std::array<std::uint8_t, 256> descriptor = verity_descriptor(file_bytes, root);
    Sha256Digest digest{};
    sha256(descriptor.data(), descriptor.size(), digest.data());
    return digest;
}

/// Returns a digest in lower-case hexadecimal.
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

/// Returns the line that `fsverity digest` prints for a file, without the newline. The path is
/// copied unchanged.
inline std::string verity_line(const Sha256Digest& digest, std::string_view path) {
    return "sha256:" + to_hex(digest) + " " + std::string{path};
}

}  // namespace heddle::tool
