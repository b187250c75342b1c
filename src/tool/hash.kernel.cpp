#include "hash.kernel.hpp"

#include <heddle/launch/launch.hpp>

#include "sha256.hpp"

namespace heddle::tool {
namespace {

struct HashBlocks {
    HEDDLE_FN void operator()(std::size_t i, std::size_t group, View<const std::uint8_t> blocks,
                              View<std::uint8_t> digests) const {
        sha256_block_group(i, group, blocks.data(), blocks.size() / sha256_block_bytes,
                           digests.data());
    }
};

}  // namespace

void hash_blocks(View<const std::uint8_t> blocks, View<std::uint8_t> digests) {
    const std::size_t count = blocks.size() / sha256_block_bytes;
    // A GPU needs many threads. A CPU needs long loops.
    const std::size_t group = current_device().is_cuda() ? 1 : 16;
    launch(HashBlocks{}, dim((count + group - 1) / group), group, blocks, digests);
}

}  // namespace heddle::tool
