// Finds the array that contains an address (docs/adr/0040).
#pragma once

#include <heddle/memory/detail/block.hpp>

namespace heddle::detail {

/// Returns the allocation that contains this address. Returns null if there is none. The array must
/// not be freed during the call. Throws std::bad_alloc. Thread-safe.
///
/// New arrays are added to the index by the next call of this function. So the index makes neither
/// creating nor freeing an array slower.
Block* find_block(const void* data);

/// Returns whether an array has some of these bytes. Like find_block() otherwise.
bool overlaps_block(const void* data, std::size_t bytes);

/// Marks a new block as raw memory, which is known by its address alone (raw_memory.hpp). Arrays
/// may adopt parts of it. So find_block() prefers them, and overlaps_block() ignores raw memory.
/// Throws std::bad_alloc. Thread-safe.
void mark_raw(Block& block);
/// Like find_block(), but ignores arrays.
Block* find_raw_block(const void* data);

}  // namespace heddle::detail
