// Finds the array that contains an address (docs/adr/0040).
#pragma once

#include <heddle/detail/block.hpp>

namespace heddle::detail {

/// Returns the allocation that has this address, or null if no array has it. The array must not be
/// freed during the call. Throws std::bad_alloc. Thread-safe.
///
/// Arrays are added to the index by the next call, not when they are made: the index adds no cost
/// to making and freeing them.
Block* find_block(const void* data);

}  // namespace heddle::detail
