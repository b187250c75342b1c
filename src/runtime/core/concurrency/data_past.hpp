// The accesses to each block of memory through one DataOrder: the block's newest writer, and
// the readers since. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/seam/records.hpp"
#include <heddle/memory/detail/block.hpp>

namespace heddle::detail {

/// A stream outside the DataOrder that uses a block, and how much of this stream's work the
/// streams are ordered after.
struct OutsideUser {
    std::uint64_t key = 0;  ///< StreamState::key
    /// Null if there is no user, or if the user is one of the DataOrder's own streams or has
    /// ended.
    StreamState* stream = nullptr;
    std::uint64_t submissions = 0;  ///< number of its submissions ordered before work on `streams`
    std::uint64_t streams = 0;      ///< a bit for each stream
};

/// The past of one block: the accesses to it. Each access is a stream and a position in that stream
/// (data_streams.hpp); position 0 means that there is none.
struct BlockPast {
    BlockPast(Block* of, std::uint64_t of_serial) noexcept : block(of), serial(of_serial) {}

    static constexpr std::uint32_t none = ~std::uint32_t{0};

    Block* block = nullptr;      ///< null for memory that heddle does not own, and for a group
    std::uint64_t serial = 0;    ///< Block::serial of the allocation
    std::uint32_t group = none;  ///< index of the past that all imports of this memory share
    std::uint32_t writer_stream = 0;
    std::uint64_t writer = 0;
    std::uint64_t readers = 0;  ///< one bit for each stream with a reader since the writer
    /// Whether work on one stream has conflicted with work on another stream, which makes further
    /// conflicts likely.
    bool is_shared = false;
    bool is_special = true;  ///< whether the past is new or in a group
    /// Whether the DataOrder's own streams may have work on the block that this past does not
    /// contain.
    bool is_new = true;
    /// Whether the readers may have written. Can be true only before the first recorded writer.
    bool readers_may_write = false;
    OutsideUser outside[Block::inline_users] = {};
    /// One bit for each stream whose order after ended streams was reported to observers.
    std::uint64_t told = 0;
    /// The newest call that uses the block, as numbered by OrderState, and whether that call writes
    /// it.
    std::uint64_t used_by = 0;
    bool is_written = false;
};

/// The pasts of all blocks that were used. heddle reuses Blocks and never frees them. So there are
/// at most as many pasts as arrays existed at one time.
class DataPast {
public:
    explicit DataPast(std::size_t streams);

    /// Returns the index of the block's past. The past of a new allocation is empty. Indices remain
    /// valid. Throws std::bad_alloc.
    std::size_t find(Block* block) {
        const std::uint64_t serial = allocation_of(block);
        for (std::size_t at = slot_of(block);; at = (at + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[at];
            if (slot.index == none) return add(block, at, serial);
            if (slot.block != block) continue;
            if (pasts_[slot.index].serial != serial) [[unlikely]]
                begin_anew(slot.index, serial);
            return slot.index;
        }
    }
    /// Returns the index of the past shared by all imports of the same memory, which `memory`
    /// (Import::memory) identifies. Keys with the same low 16 bits share a past.
    std::uint32_t find_group(std::uint64_t memory);
    BlockPast& operator[](std::size_t index) noexcept { return pasts_[index]; }
    const BlockPast& operator[](std::size_t index) const noexcept { return pasts_[index]; }
    /// Returns the position of the newest reader in a stream, if BlockPast::readers has the
    /// stream's bit.
    std::uint64_t& reader(std::size_t index, std::size_t number) noexcept {
        return readers_[index * streams_ + number];
    }
    std::uint64_t reader(std::size_t index, std::size_t number) const noexcept {
        return readers_[index * streams_ + number];
    }
    /// Removes all outside users, so that the work of streams outside the DataOrder is queried
    /// again.
    void forget_outside() noexcept {
        for (BlockPast& past : pasts_)
            for (OutsideUser& user : past.outside) user = {};
    }
    /// Records an operation that has been enqueued.
    void note(std::size_t index, bool writes, std::uint32_t number,
              std::uint64_t position) noexcept {
        BlockPast& past = pasts_[index];
        if (writes) {
            past.writer_stream = number;
            past.writer = position;
            past.readers = 0;
            past.readers_may_write = false;
        } else {
            past.readers |= std::uint64_t{1} << number;
            reader(index, number) = position;
        }
    }

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    struct Slot {
        Block* block = nullptr;
        std::uint32_t index = none;
    };
    std::size_t slot_of(const Block* block) const noexcept {
        return static_cast<std::size_t>(
                   (reinterpret_cast<std::uintptr_t>(block) >> 7) * 0x9e3779b97f4a7c15u >> 32) &
               (slots_.size() - 1);
    }
    std::size_t add(Block* block, std::size_t at, std::uint64_t serial);
    void begin_anew(std::size_t index, std::uint64_t serial) noexcept;
    void grow();

    std::size_t streams_;
    std::vector<Slot> slots_;  ///< open addressing, at most half full
    std::vector<BlockPast> pasts_;
    std::vector<std::uint64_t> readers_;
};

}  // namespace heddle::detail
