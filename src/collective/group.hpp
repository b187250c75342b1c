// The state of a DeviceGroup, and how it runs one collective.
#pragma once

#include <memory>
#include <vector>

#include "collective/fetch.kernel.hpp"
#include "collective/nccl.hpp"
#include "collective/reduce.hpp"
#include "core/base/ids.hpp"
#include "core/observe/calls.hpp"
#include <heddle/collective/device_group.hpp>

namespace heddle::detail {

struct GroupState {
    struct Rank {
        /// The points of a collective at which other ranks may wait for this one.
        Event entered, halfway, left;
        Array<std::byte> scratch = {};
        std::uint64_t scratch_stream = 0;  ///< id of the only stream that uses `scratch`
        explicit Rank(Device d) : entered(d), halfway(d), left(d) {}
    };

    std::vector<Device> devices;
    DeviceGroupOptions options;
    std::vector<Rank> ranks = {};
    std::vector<std::unique_ptr<NcclRank>> nccl = {};  ///< empty if the transport is copies
};

/// Sets the current streams if the call names none. Throws UsageError if the call is not valid.
void check_call(const std::vector<Device>& devices, CollectiveCall& call);

/// The first element of each rank's part when all parts are laid out one after the other. The entry
/// after the last rank is the total size.
using Offsets = std::array<std::size_t, max_ranks + 1>;
Offsets offsets_of(const PerRank<Part>& parts);

/// Returns `count` elements of `part` from element `first` on.
inline Part slice(const CollectiveCall& call, const Part& part, std::size_t first,
                  std::size_t count) {
    return {static_cast<std::byte*>(part.data) + first * call.element, count, part.owner};
}

/// Returns whether NCCL can run this call in the present state of the streams.
bool can_use_nccl(const GroupState& group, const CollectiveCall& call);
void run_with_nccl(GroupState& group, const CollectiveCall& call);

/// Alignment, in bytes, of slices and of pieces of scratch memory.
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
        std::byte* kept = nullptr;     ///< a result before it is copied to its destination
        std::byte* staging = nullptr;  ///< staging memory of combine()
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
    /// Marks operations as the rank's share, for observers. The mark ends with the returned object.
    ShareMark share_of(std::size_t rank) const noexcept {
        return {number_, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(n_),
                to_string(call_.kind)};
    }
    void join_capture();
    void leave_capture();
    void mark(std::size_t rank, Moment moment);
    void await(std::size_t rank, std::size_t other, Moment moment);
    void await_all(std::size_t rank, Moment moment);  ///< waits for `moment` of all other ranks
    /// Makes every rank wait for `moment` of all other ranks. All ranks must have marked it.
    void meet(Moment moment);
    void barrier(Moment moment);
    /// Copies a part on the rank's stream, unless both are the same or empty.
    void copy(std::size_t rank, const Part& to, const Part& from);
    /// Queues a copy for fetch(): at most as many as there are ranks. Copies must not overlap.
    void want(const Part& to, const Part& from);
    /// Runs the queued copies. Uses one kernel if they are small and within reach: a kernel starts
    /// sooner than the copy engine between GPUs.
    void fetch(std::size_t rank);

    /// Provides scratch memory on the rank's device: `kept` bytes, and the staging memory for
    /// combining `count` elements. Call before work is enqueued.
    void need_scratch(std::size_t rank, std::size_t kept, std::size_t count);
    Part kept(std::size_t rank, std::size_t count) const {
        return {scratch_[rank].kept, count, scratch_[rank].owner};
    }
    /// Combines all ranks' `send`, from element `first` on, into `to`, on the rank's stream.
    void combine(std::size_t rank, const Part& to, std::size_t first);
    void combine_sources(std::size_t rank, const Part& to, const Part* sources,
                         const Part& between);
    bool is_in_place(std::size_t rank) const {
        return call_.send[rank].data == call_.receive[rank].data;
    }
    /// Returns whether kernels of the rank can read the part in place.
    bool reaches(std::size_t rank, const Part& part) const;
    /// Returns whether kernels of the rank can read `send` of rank `other` in place.
    bool reaches(std::size_t rank, std::size_t other) const {
        return rank == other || reaches(rank, call_.send[other]);
    }
    std::size_t staged(std::size_t rank) const;  ///< pieces that combine() stages at once
    std::size_t piece(std::size_t count) const;  ///< elements staged at once

    GroupState& group_;
    const CollectiveCall& call_;
    const std::size_t n_;
    const std::uint64_t number_ = next_id();  ///< the number of this collective, for observers
    std::vector<Scratch> scratch_ = {};
    std::array<Fetched, max_ranks> wanted_{};
    std::size_t wanted_count_ = 0;
    std::vector<Array<std::byte>> of_capture_ = {};  ///< scratch memory of a capture
    /// The rank whose stream was capturing before this call; n_ if there is none.
    std::size_t capturing_;
    std::vector<std::size_t> joined_ = {};
};

}  // namespace heddle::detail
