// The streams that use a block of memory, by key, so that a record which has become another stream
// is never taken for a user (docs/adr/0023).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/seam/records.hpp"
#include <heddle/detail/block.hpp>

namespace heddle::detail {

/// A snapshot of the streams that used a block, without those whose work has ended or is void.
/// Allocates nothing for a block with at most Block::inline_users users.
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
/// Returns whether nobody has to wait for this user, since all that it has is being dropped: a CPU
/// stream that has gone with a failure that was cleared since. A wait would bring that failure.
bool is_void_user(std::uint64_t key) noexcept;

/// Returns why the memory may not hold what it should: the failure of a user, or null. Call it once
/// the work of the users that matters has completed, or is waited for: what runs is not asked.
/// Leaves out users for which is_left_out(self, key) returns true.
Failure failure_of(const Block& block, bool (*is_left_out)(const void* self, std::uint64_t key),
                   const void* self);
inline Failure failure_of(const Block& block) {
    return failure_of(block, [](const void*, std::uint64_t) { return false; }, nullptr);
}

/// The users of a block without owners, which no other thread accesses. Allocates nothing. The
/// result may point into `few`; it is valid until forget_users().
std::span<const StreamUse> final_users(Block& block,
                                       std::span<StreamUse, Block::inline_users> few) noexcept;

/// Returns how many places of the block note_use() reads for the stream. For tests: it is what
/// makes a launch on the thousandth stream of an array cost what the first one did.
std::size_t places_read_for(const Block& block, std::uint64_t key) noexcept;

/// Removes all users of the block. No other thread may access it.
void forget_users(Block& block) noexcept;

}  // namespace heddle::detail
