#pragma once

// The only kernel of `heddle digest`. It computes the SHA-256 digest of each 4096-byte block of the
// file, and of each level of the file's hash tree.

#include <cstdint>

#include <heddle/memory/view.hpp>

namespace heddle::tool {

/// Hashes whole 4096-byte blocks on the current stream. Writes 32 bytes for each block to
/// `digests`, which must be large enough. The current device must be able to access both views.
void hash_blocks(View<const std::uint8_t> blocks, View<std::uint8_t> digests);

}  // namespace heddle::tool
