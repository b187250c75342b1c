// Owners of foreign memory. Other code may pass memory to heddle that a block already owns, at any
// time. So the release by a last owner and the arrival of a new owner must be ordered.
#pragma once

#include <heddle/memory/detail/adopted_memory.hpp>

namespace heddle::detail {

/// Removes an owner of a block of foreign memory. If this owner was the last one, marks the block
/// as dead and returns true.
bool drop_foreign_owner(Block& block) noexcept;
/// Adds an owner to the block of the array that contains the address, and returns the block.
/// Returns null if no array contains it. The caller guarantees that the memory is not freed during
/// the call. For heddle's own memory, this means that some owner exists.
Block* share_of(const void* data);

}  // namespace heddle::detail
