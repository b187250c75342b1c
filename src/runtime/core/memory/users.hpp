// The streams that use a block of memory, identified by keys. If a stream's record is reused for
// another stream, that stream is never mistaken for a user (docs/adr/0023).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/seam/records.hpp"
#include <heddle/memory/detail/block.hpp>

namespace heddle::detail {

/// A snapshot of the streams that used a block. Streams whose work has ended or is void are left
/// out. Does not allocate if the block has at most Block::inline_users users.
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

/// A bit in Block::writers: a user may have been removed because its stream had ended.
inline constexpr std::uint8_t lost_users = 0x80;
/// Returns whether a stream that has ended may have used the memory.
bool has_ended_users(const Block& block) noexcept;
/// Returns whether all work of this user is dropped, so that no wait for it is needed. The user is
/// then a CPU stream that failed and has ended, and whose failure was cleared since. A wait would
/// wrongly inherit that failure.
bool is_void_user(std::uint64_t key) noexcept;

/// Returns the failure of a user that may have left wrong data in the memory, or null if there is
/// none. Call it once the work of the relevant users has completed or is waited for, because
/// running work is not checked. Leaves out users for which is_left_out(self, key) returns true.
Failure failure_of(const Block& block, bool (*is_left_out)(const void* self, std::uint64_t key),
                   const void* self);
inline Failure failure_of(const Block& block) {
    return failure_of(block, [](const void*, std::uint64_t) { return false; }, nullptr);
}

/// Returns the users of a block without owners. No other thread may access the block. Does not
/// allocate. The result may point into `few`. It is valid until forget_users().
std::span<const StreamUse> final_users(Block& block,
                                       std::span<StreamUse, Block::inline_users> few) noexcept;

/// Returns how many places of the block note_use() reads for the stream. For tests: this limits how
/// slow a launch is if an array already has a thousand users.
std::size_t slots_read_for(const Block& block, std::uint64_t key) noexcept;

/// Removes all users of the block. No other thread may be accessing the block.
void forget_users(Block& block) noexcept;

}  // namespace heddle::detail
