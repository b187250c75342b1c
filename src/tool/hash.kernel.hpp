#pragma once

// The one kernel of `heddle digest`: SHA-256 of 4096-byte blocks, of the file's as of every level above it.

#include <cstdint>

#include <heddle/view.hpp>

namespace heddle::tool {

/// Hashes whole 4096-byte blocks on the current stream: 32 bytes for each to `digests`, which has room for
/// them. Both are in memory that the current device reaches.
void hash_blocks(View<const std::uint8_t> blocks, View<std::uint8_t> digests);

}  // namespace heddle::tool
