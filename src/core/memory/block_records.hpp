// Records of allocations: taken for a new one, given back when it has been freed, never destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <heddle/detail/block.hpp>

namespace heddle::detail {

/// Returns a record for a new allocation, with a serial of its own. The caller sets the rest, and
/// `alive` last. Thread-safe.
Block& take_block();
/// Returns a record whose memory has been freed. Thread-safe.
void give_block(Block& block) noexcept;

/// An allocation that has been made since the index of addresses was last used.
struct NewBlock {
    Block* block;
    std::uint64_t serial;
    std::uintptr_t begin, end;
};

/// Returns whether take_new_blocks() has something to do. Sees all blocks whose making happened
/// before the call.
bool has_new_blocks() noexcept;
/// Moves new allocations to `to`, as far as there is room, and returns how many. Chains those whose
/// memory is just being allocated or freed to `later`, for list_again(). Thread-safe.
std::size_t take_new_blocks(std::span<NewBlock> to, Block*& later) noexcept;
/// Makes the blocks of the chain new ones again.
void list_again(Block* chain) noexcept;
/// The same for one that take_new_blocks() returned, unless it has been freed meanwhile.
void list_again(const NewBlock& one) noexcept;

}  // namespace heddle::detail
