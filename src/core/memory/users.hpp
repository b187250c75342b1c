// The streams that use a block of memory, by key: a record that has become another stream is never
// mistaken for a user (docs/adr/0023).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/seam/records.hpp"
#include <heddle/detail/block.hpp>

namespace heddle::detail {

/// A snapshot of the streams that used a block, without those whose work has ended or is void. Does
/// not allocate for a block with at most Block::inline_users users.
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

/// In Block::writers: a user may have been removed, because its stream had ended.
inline constexpr std::uint8_t lost_users = 0x80;
/// Returns whether a stream that has ended may have used the memory.
bool has_ended_users(const Block& block) noexcept;
/// Returns whether no wait for this user is needed, because all its work is being dropped. It then
/// is a CPU stream that has ended with a failure that was cleared since. A wait would inherit that
/// failure.
bool is_void_user(std::uint64_t key) noexcept;

/// Returns the failure of a user, which may have left wrong data in the memory, or null. Call it
/// once the work of the relevant users has completed or is waited for: running work is not checked.
/// Leaves out users for which is_left_out(self, key) returns true.
Failure failure_of(const Block& block, bool (*is_left_out)(const void* self, std::uint64_t key),
                   const void* self);
inline Failure failure_of(const Block& block) {
    return failure_of(block, [](const void*, std::uint64_t) { return false; }, nullptr);
}

/// Returns the users of a block without owners, which no other thread accesses. Does not allocate.
/// The result may point into `few`; it is valid until forget_users().
std::span<const StreamUse> final_users(Block& block,
                                       std::span<StreamUse, Block::inline_users> few) noexcept;

/// Returns how many places of the block note_use() reads for the stream. For tests: this number
/// bounds the cost of a launch on the thousandth stream of an array.
std::size_t places_read_for(const Block& block, std::uint64_t key) noexcept;

/// Removes all users of the block. No other thread may access it.
void forget_users(Block& block) noexcept;

}  // namespace heddle::detail
