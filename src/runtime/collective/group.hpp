// The state of a DeviceGroup, and how it runs one collective.
#pragma once

#include <memory>
#include <vector>

#include "collective/fetch.kernel.hpp"
#include "collective/nccl.hpp"
#include "collective/reduce.hpp"
#include "core/base/ids.hpp"
#include "core/operation/calls.hpp"
#include <heddle/collective/device_group.hpp>

namespace heddle::detail {

struct HEDDLE_HIDDEN GroupState {
    struct Rank {
        /// Points in a rank's share of a collective. Other ranks may wait for each of them.
        Event entered, halfway, left;
        Array<std::byte> scratch = {};
        std::uint64_t scratch_stream = 0;  ///< id of the only stream that may use `scratch`
        explicit Rank(Device d) : entered(d), halfway(d), left(d) {}
    };

    std::vector<Device> devices;
    DeviceGroupOptions options;
    std::vector<Rank> ranks = {};
    /// One for each rank. Empty if heddle itself runs the collectives, by copies.
    std::vector<std::unique_ptr<NcclRank>> nccl = {};
};

/// Checks the call. If the call names no streams, fills in the current streams. Throws UsageError
/// if the call is not valid.
void check_call(const std::vector<Device>& devices, CollectiveCall& call);

/// The offset of each rank's part, in elements, if all parts are laid out one after the other. The
/// last entry is the total size.
using Offsets = std::array<std::size_t, max_ranks + 1>;
Offsets offsets_of(const PerRank<Part>& parts);

/// Returns the `count` elements of `part` that begin at element `first`.
inline Part slice(const CollectiveCall& call, const Part& part, std::size_t first,
                  std::size_t count) {
    return {static_cast<std::byte*>(part.data) + first * call.element, count, part.owner};
}

/// Returns whether NCCL can run this call. The result depends on the current state of the streams.
bool can_use_nccl(const GroupState& group, const CollectiveCall& call);
void run_with_nccl(GroupState& group, const CollectiveCall& call);

/// The alignment of slices and of pieces of scratch memory, in bytes.
inline constexpr std::size_t scratch_line = 128;

/// Runs one collective with heddle's own copies and kernels.
class CollectiveRun {
public:
    CollectiveRun(GroupState& group, const CollectiveCall& call);
    void run();

private:
    using Moment = Event GroupState::Rank::*;
    static constexpr Moment entered = &GroupState::Rank::entered,
                            halfway = &GroupState::Rank::halfway, left = &GroupState::Rank::left;
    struct Scratch {
        /// Buffer for a result that is later copied to its destination.
        std::byte* kept = nullptr;
        std::byte* staging = nullptr;  ///< buffer for elements that combine() must copy first
        Block* owner = nullptr;
    };

    // run.cpp
    void broadcast();
    void scatter();
    void gather();
    void all_gather();
    void reduce();
    void reduce_scatter();
    void all_reduce();
    void all_reduce_at_once();

    // steps.cpp
    StreamRef stream(std::size_t rank) const { return Access::stream(*call_.streams[rank]); }
    /// Marks later operations as the rank's share, for observers. The mark ends when the returned
    /// object is destroyed.
    ShareMark share_of(std::size_t rank) const noexcept {
        return {number_, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(n_),
                to_string(call_.kind)};
    }
    void join_capture();
    void leave_capture();
    void mark(std::size_t rank, Moment moment);
    void wait_for(std::size_t rank, std::size_t other, Moment moment);
    /// Waits until all other ranks have reached `moment`.
    void wait_for_all(std::size_t rank, Moment moment);
    /// Makes every rank wait for `moment` of all other ranks, which must already have recorded it.
    void meet(Moment moment);
    void barrier(Moment moment);
    /// Copies a part on the rank's stream, unless the parts are empty or the same.
    void copy(std::size_t rank, const Part& to, const Part& from);
    /// Queues a copy for fetch(). The queue has room for as many copies as there are ranks. Queued
    /// copies must not overlap.
    void want(const Part& to, const Part& from);
    /// Runs the queued copies. Uses one kernel if all parts are small and accessible, because
    /// between GPUs a kernel starts sooner than a copy.
    void fetch(std::size_t rank);

    /// Allocates scratch memory on the rank's device: `kept` bytes, and enough for combine() to
    /// stage `count` elements. Call it before enqueuing work.
    void need_scratch(std::size_t rank, std::size_t kept, std::size_t count);
    Part kept(std::size_t rank, std::size_t count) const {
        return {scratch_[rank].kept, count, scratch_[rank].owner};
    }
    /// Combines `count` elements, from `first` on, of the views `send` of all ranks. Writes the
    /// result to `to`, on the rank's stream.
    void combine(std::size_t rank, const Part& to, std::size_t first);
    void combine_sources(std::size_t rank, const Part& to, const Part* sources,
                         const Part& between);
    bool is_in_place(std::size_t rank) const {
        return call_.send[rank].data == call_.receive[rank].data;
    }
    /// Returns whether kernels of the rank can read the part directly, without a copy.
    bool reaches(std::size_t rank, const Part& part) const;
    /// Returns whether kernels of the rank can read `send` of rank `other` directly, without a
    /// copy.
    bool reaches(std::size_t rank, std::size_t other) const {
        return rank == other || reaches(rank, call_.send[other]);
    }
    std::size_t staged(std::size_t rank) const;  ///< number of parts that combine() stages at once
    std::size_t piece(std::size_t count) const;  ///< number of elements that are staged at once

    GroupState& group_;
    const CollectiveCall& call_;
    const std::size_t n_;
    const std::uint64_t number_ = next_id();  ///< the number of this collective, for observers
    std::vector<Scratch> scratch_ = {};
    std::array<Fetched, max_ranks> wanted_{};
    std::size_t wanted_count_ = 0;
    std::vector<Array<std::byte>> of_capture_ = {};  ///< scratch memory that a capture uses
    /// The rank whose stream was already capturing before this call; n_ if there is none.
    std::size_t capturing_;
    std::vector<std::size_t> joined_ = {};
};

}  // namespace heddle::detail
