// Records of allocations. Each allocation has one. Records are reused and never destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <heddle/memory/detail/block.hpp>

namespace heddle::detail {

/// Returns a record for a new allocation. It has a unique serial. The caller must set the other
/// members, `alive` last. Thread-safe.
Block& take_block();
/// Frees a record. The allocation's memory must have been freed before. Thread-safe.
void give_block(Block& block) noexcept;

/// An allocation that is newer than the last update of the index of addresses.
struct NewBlock {
    Block* block;
    std::uint64_t serial;
    std::uintptr_t begin, end;
};

/// Returns whether take_new_blocks() would find a block. Finds every block whose creation happened
/// before the call (in the sense of happens-before).
bool has_new_blocks() noexcept;
/// Moves new allocations to `to`, as many as fit, and returns their number. Blocks whose memory is
/// being allocated or freed at that moment are linked to `later` instead; pass them to
/// list_again(). Thread-safe.
std::size_t take_new_blocks(std::span<NewBlock> to, Block*& later) noexcept;
/// Adds the blocks of the chain to the new allocations again.
void list_again(Block* chain) noexcept;
/// Adds a block from take_new_blocks() to the new allocations again, unless it was freed since
/// then.
void list_again(const NewBlock& one) noexcept;

}  // namespace heddle::detail
