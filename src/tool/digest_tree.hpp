#pragma once

// The hash tree over a file, built on a device while the file's blocks arrive.

#include <array>
#include <cstddef>
#include <cstdint>

#include <heddle/memory/array.hpp>

#include "verity.hpp"

namespace heddle::tool {

/// Computes the root hash of one file from its blocks. add() and finish() enqueue on the current
/// stream. All calls must use the same stream, because nothing else orders their work.
///
/// Each level keeps only its newest digests. When the buffer of a level is full, its blocks are
/// hashed into the next level, and the buffer is reused. So memory use does not grow with the file.
class DigestTree {
public:
    /// Prepares for a file of `shape.file_bytes()` > 0 bytes. Allocates on `stream`, at most 4 MiB
    /// per level.
    DigestTree(StreamRef stream, const VerityTree& shape);

    /// Hashes the file's next blocks. Only whole blocks are allowed: zeros must pad the file's last
    /// block.
    void add(View<const std::uint8_t> blocks) { add(0, blocks); }

    /// Hashes the digests that are left in the levels, up to the root. Call it after the last
    /// block.
    void finish();

    /// Returns the root hash, 32 bytes on the device. Valid once the work of finish() has
    /// completed.
    View<const std::uint8_t> root() const {
        return levels_[top_].digests.view().first(sha256_bytes);
    }

private:
    struct Level {
        /// The digests of this level's blocks, stored as whole blocks.
        Array<std::uint8_t> digests;
        std::size_t used = 0;  ///< number of bytes in use
    };

    void add(std::size_t level, View<const std::uint8_t> blocks);
    void pass_on(std::size_t level);

    std::array<Level, max_verity_levels + 1> levels_;
    std::size_t top_;  ///< the level with a single block, whose digest is the root
};

}  // namespace heddle::tool
