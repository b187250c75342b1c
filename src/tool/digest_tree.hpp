#pragma once

// The hash tree above a file, built on a device while the file's blocks come by.

#include <array>
#include <cstddef>
#include <cstdint>

#include <heddle/array.hpp>

#include "verity.hpp"

namespace heddle::tool {

/// Turns the blocks of one file into its root hash. add() and finish() are work on the current stream, which
/// must be the same at each call: its order is all the order there is.
///
/// Of each level only the newest digests are kept: when their buffer is full they are hashed, as blocks, into
/// the level above, and the buffer starts again. So memory does not grow with the file.
class DigestTree {
public:
    /// For a file of `shape.file_bytes()` > 0 bytes. Allocates on `stream`, a few MiB for each level at most.
    DigestTree(StreamRef stream, const VerityTree& shape);

    /// Hashes the file's next blocks: whole ones, the file's last filled up with zeros.
    void add(View<const std::uint8_t> blocks) { add(0, blocks); }

    /// After the last block: hashes what the levels still hold, up to the root.
    void finish();

    /// The root hash, 32 bytes on the device; there once what finish() enqueued is done.
    View<const std::uint8_t> root() const { return levels_[top_].digests.view().first(sha256_bytes); }

private:
    struct Level {
        Array<std::uint8_t> digests;  ///< of the blocks of a level of the tree, as whole blocks themselves
        std::size_t used = 0;         ///< bytes
    };

    void add(std::size_t level, View<const std::uint8_t> blocks);
    void pass_on(std::size_t level);

    std::array<Level, max_verity_levels + 1> levels_;
    std::size_t top_;  ///< the level that is one block, whose digest is the root
};

}  // namespace heddle::tool
