// Shares in a block: the last one gives it back.
#pragma once

#include <utility>

#include <heddle/array.hpp>

namespace heddle::detail {

/// One owner of a block among several. release() frees it for the last of them.
class BlockOwner {
public:
    /// Takes over the one share that the block was allocated with, or that an Array had.
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
