// Stores one thread's records in slots of 64 bytes, which are grouped in chunks. Only that thread
// writes them. The recording's collector reads them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "timeline/record/read_lock.hpp"
#include "timeline/trace.hpp"

namespace heddle::detail {

/// One operation, without the fields that are rarely used. In the chunk, a RareSlot follows if the
/// flags contain `has_rare`, and then as many slots of accesses as `accesses` says.
struct OpSlot {
    std::uint64_t id;
    std::int64_t begin_ns;
    std::uint32_t duration_ns;  ///< in ns; unused if RareSlot::long_duration_ns is set
    std::uint32_t name, file, line;
    std::uint64_t position;
    /// For a wait: the position on the other stream; otherwise a number of bytes.
    std::uint64_t amount;
    std::uint32_t stream, other;
    OpKind kind;
    OpMode mode;
    WaitReason reason;
    std::uint8_t flags;
    std::uint32_t accesses;

    static constexpr std::uint8_t has_rare = 1, holds_pointers = 2;
};
static_assert(sizeof(OpSlot) == 64);

struct RareSlot {
    std::uint64_t event, recording, parent, collective;
    std::uint32_t generation, graph, share, shares;
    std::uint32_t device, unused;
    std::int64_t long_duration_ns;  ///< duration of the call, if it is longer than 4 s
};
static_assert(sizeof(RareSlot) == 64);

/// One run of an operation. If `node` is set, the run is of that node of a graph.
struct RunSlot {
    std::uint64_t id;
    std::int64_t node, start_ns, end_ns;
    std::uint32_t workers;
    /// The CUDA device whose clock measured the times, or -1 for the host's clock.
    std::int32_t clock;
    DeviceClock measured_by;
    RunResult result;
    std::uint8_t unused[22];
};
static_assert(sizeof(RunSlot) == 64);

/// A reading of a CUDA device's clock.
struct ClockSlot {
    std::int64_t before_ns, device_ns, after_ns;
    std::int32_t device;
    DeviceClock clock;
    std::uint8_t unused[35];
};
static_assert(sizeof(ClockSlot) == 64);

/// A range that the program has named.
struct RangeSlot {
    std::int64_t begin_ns, end_ns;
    std::uint32_t name;
    std::uint32_t unused[11];
};
static_assert(sizeof(RangeSlot) == 64);

union Slot {
    Slot() noexcept {}  // NOLINT(modernize-use-equals-default): the access has another default
    OpSlot op;
    RareSlot rare;
    OpAccess access;
    RunSlot run;
    ClockSlot clock;
    RangeSlot range;
};
static_assert(sizeof(Slot) == 64);

/// Limits how many entries all threads of a recording keep together. An operation counts as one
/// entry, with all of its slots.
struct EntryLimit {
    std::size_t most = 0;
    std::atomic<std::size_t> held{0};  ///< number of entries in full chunks
};

/// Slots in the order in which one thread wrote them. The slots of an entry are always in the same
/// chunk, so the oldest chunk can be dropped as a whole. One thread may write while another reads.
class SlotList {
public:
    static constexpr std::size_t chunk_slots = 1024;

    explicit SlotList(EntryLimit& limit) noexcept : limit_(limit) {}

    /// Reserves `count` slots, at most as many as a chunk has. Readers see them only after
    /// publish(). Returns null if there is no chunk yet and memory is exhausted.
    Slot* reserve(std::size_t count) noexcept {
        if (last_ == nullptr || last_used_ + count > chunk_slots) [[unlikely]]
            if (!add_chunk()) return nullptr;
        return &last_->slots[last_used_];
    }
    /// Makes the reserved slots visible to readers, as one entry.
    void publish(std::size_t count) noexcept {
        last_used_ += static_cast<std::uint32_t>(count);
        ++last_->entries;
        last_->used.store(last_used_, std::memory_order_release);
    }

    /// Calls use(slots, count) for each chunk, oldest first.
    template <class F> void read(F&& use) const {
        const ReadLock lock(mutex_);
        for (std::size_t i = 0; i < chunks_.size(); ++i) {
            const Chunk& chunk = *chunks_[(first_ + i) % chunks_.size()];
            use(chunk.slots, static_cast<std::size_t>(chunk.used.load(std::memory_order_acquire)));
        }
    }

private:
    struct Chunk {
        std::atomic<std::uint32_t> used{0};
        std::uint32_t entries = 0;  ///< only used by the writing thread
        Slot slots[chunk_slots];
    };
    /// Adds a chunk. If the other chunks hold enough entries, or if memory is exhausted, reuses the
    /// oldest chunk instead. Returns false if there is no chunk to reuse.
    bool add_chunk() noexcept;

    EntryLimit& limit_;
    mutable std::mutex mutex_;                    ///< guards the next two members
    std::vector<std::unique_ptr<Chunk>> chunks_;  ///< a ring
    std::size_t first_ = 0;                       ///< index of the oldest chunk
    // Only used by the writing thread.
    Chunk* last_ = nullptr;
    std::uint32_t last_used_ = 0;
};

}  // namespace heddle::detail
