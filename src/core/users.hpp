// Who uses a block of memory: streams by key, so that a record which has become another stream is never taken for the user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/records.hpp"
#include <heddle/detail/block.hpp>

namespace heddle::detail {

/// The streams that used a block, as they were at one moment; those whose work has ended are left out. Allocates nothing for a block
/// with few users.
class Users {
public:
    explicit Users(const Block& block);
    std::span<const StreamUse> all() const noexcept {
        return many_.empty() ? std::span(few_, count_) : std::span<const StreamUse>(many_);
    }

private:
    StreamUse few_[Block::inline_users] = {};
    std::size_t count_ = 0;
    std::vector<StreamUse> many_;
};

/// The same for a block that nobody else uses any more: allocates nothing. Valid until the block's users are forgotten.
std::span<const StreamUse> final_users(Block& block, std::span<StreamUse, Block::inline_users> few) noexcept;

/// The block has no users.
void forget_users(Block& block) noexcept;

}  // namespace heddle::detail
