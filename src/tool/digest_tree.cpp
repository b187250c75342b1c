#include "digest_tree.hpp"

#include <heddle/memory/fill.hpp>
#include <heddle/memory/make_array.hpp>

#include <algorithm>

#include "hash.kernel.hpp"

namespace heddle::tool {
namespace {

/// The size of a level's buffer, in bytes of digests. A buffer holds the digests of 512 MiB of
/// blocks. The size is a multiple of the block size, and has enough blocks for a launch on a GPU.
constexpr std::uint64_t window_bytes = 4 << 20;

}  // namespace

DigestTree::DigestTree(StreamRef stream, const VerityTree& shape)
    : top_(static_cast<std::size_t>(shape.levels())) {
    for (std::size_t level = 0; level <= top_; ++level) {
        const std::uint64_t all = shape.blocks(static_cast<int>(level)) * sha256_bytes;
        const std::uint64_t whole_blocks = verity_blocks(all) * sha256_block_bytes;
        levels_[level].digests = empty<std::uint8_t>(
            stream, static_cast<std::size_t>(std::min(whole_blocks, window_bytes)));
    }
}

void DigestTree::add(std::size_t level, View<const std::uint8_t> blocks) {
    // The size of a block divided by that of its digest.
    constexpr std::size_t ratio = digests_per_block;
    Level& to = levels_[level];
    while (!blocks.empty()) {
        if (to.used == to.digests.size()) pass_on(level);
        const std::size_t room = (to.digests.size() - to.used) * ratio;
        const std::size_t now = std::min(blocks.size(), room);
        hash_blocks(blocks.first(now), to.digests.view().subview(to.used, now / ratio));
        to.used += now / ratio;
        blocks = blocks.last(blocks.size() - now);
    }
}

void DigestTree::pass_on(std::size_t level) {
    Level& from = levels_[level];
    const std::size_t blocks = static_cast<std::size_t>(verity_blocks(from.used));
    const View<std::uint8_t> digests = from.digests.view().first(blocks * sha256_block_bytes);
    if (from.used < digests.size()) fill_zero(digests.last(digests.size() - from.used));
    add(level + 1, digests);
    from.used = 0;
}

void DigestTree::finish() {
    for (std::size_t level = 0; level < top_; ++level) pass_on(level);
}

}  // namespace heddle::tool
