#pragma once

// The only kernel of `heddle digest`. It computes the SHA-256 of each 4096-byte block, both of the
// file and of each level of its hash tree.

#include <cstdint>

#include <heddle/memory/view.hpp>

namespace heddle::tool {

/// Hashes whole 4096-byte blocks on the current stream. Writes 32 bytes per block to `digests`,
/// which must have room for them. The current device must reach both.
void hash_blocks(View<const std::uint8_t> blocks, View<std::uint8_t> digests);

}  // namespace heddle::tool
