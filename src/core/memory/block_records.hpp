// Records of allocations: taken for a new one, returned when it has been freed, never destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <heddle/detail/block.hpp>

namespace heddle::detail {

/// Returns a record for a new allocation, with a unique serial. The caller sets the other members,
/// and `alive` last. Thread-safe.
Block& take_block();
/// Frees a record whose memory has been freed. Thread-safe.
void give_block(Block& block) noexcept;

/// An allocation that has been made since the index of addresses was last used.
struct NewBlock {
    Block* block;
    std::uint64_t serial;
    std::uintptr_t begin, end;
};

/// Returns whether take_new_blocks() would find a block. Sees all blocks whose creation happens
/// before the call.
bool has_new_blocks() noexcept;
/// Moves new allocations to `to`, as far as there is room, and returns their number. Chains blocks
/// whose memory is being allocated or freed to `later`, for list_again(). Thread-safe.
std::size_t take_new_blocks(std::span<NewBlock> to, Block*& later) noexcept;
/// Marks the blocks of the chain as new again.
void list_again(Block* chain) noexcept;
/// Marks a block from take_new_blocks() as new again, unless it has been freed meanwhile.
void list_again(const NewBlock& one) noexcept;

}  // namespace heddle::detail
