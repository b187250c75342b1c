// Storage for records of allocations. It can decide whether any eight bytes are the address of a
// record.
#pragma once

#include <heddle/memory/detail/block.hpp>

namespace heddle::detail {

/// Several records, which are allocated together and never freed. The address of a slab is a
/// multiple of its size.
struct alignas(8192) BlockSlab {
    static constexpr int size = 64;
    Block blocks[size];
};
static_assert(sizeof(BlockSlab) == alignof(BlockSlab));

/// Returns a new slab, which is_block() recognises. Throws std::bad_alloc. Thread-safe.
BlockSlab& make_slab();
/// Returns whether the address, a multiple of 128, is that of a record. Does not read the memory
/// there, and acquires no lock. Thread-safe.
bool is_block(const Block* address) noexcept;

}  // namespace heddle::detail
