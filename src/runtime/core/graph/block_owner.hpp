// Shared ownership of a block.
#pragma once

#include <utility>

#include <heddle/memory/array.hpp>

namespace heddle::detail {

/// One of several owners of a block. The last owner frees the block.
class BlockOwner {
public:
    /// Adopts an existing ownership of the block: that of its allocation, or of an Array.
    explicit BlockOwner(Block& block) noexcept : block_(&block) {}
    BlockOwner(const BlockOwner& other) noexcept : block_(other.block_) {
        if (block_ != nullptr) block_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    BlockOwner(BlockOwner&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    BlockOwner& operator=(BlockOwner other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~BlockOwner() {
        if (block_ != nullptr) release(*block_);
    }

    Block& block() const noexcept { return *block_; }

private:
    Block* block_;
};

}  // namespace heddle::detail
