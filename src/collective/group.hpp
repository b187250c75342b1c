// What a DeviceGroup is made of, and how one of its collectives is done.
#pragma once

#include <memory>
#include <vector>

#include "collective/fetch.kernel.hpp"
#include "collective/nccl.hpp"
#include "collective/reduce.hpp"
#include <heddle/collective.hpp>

namespace heddle::detail {

struct GroupState {
    struct Rank {
        Event entered, halfway, left;  ///< the points of a collective where others may wait for this rank
        Array<std::byte> scratch = {};
        std::uint64_t scratch_stream = 0;  ///< id of the one stream that uses it
        explicit Rank(Device d) : entered(d), halfway(d), left(d) {}
    };

    std::vector<Device> devices;
    DeviceGroupOptions options;
    std::vector<Rank> ranks = {};
    std::vector<std::unique_ptr<NcclRank>> nccl = {};  ///< empty: by copies
};

const char* name_of(CollectiveKind kind) noexcept;

/// Fills in the current streams where none were named, and throws UsageError for whatever is wrong with a call.
void check_call(const std::vector<Device>& devices, CollectiveCall& call);

/// Where rank i's part begins when all parts of `parts` stand one behind the other; the last one is their sum.
using Offsets = std::array<std::size_t, max_ranks + 1>;
Offsets offsets_of(const PerRank<Part>& parts);

/// `count` elements from the `first` one on.
inline Part slice(const CollectiveCall& call, const Part& part, std::size_t first, std::size_t count) {
    return {static_cast<std::byte*>(part.data) + first * call.element, count, part.owner};
}

/// Whether NCCL can do this call, with the streams as they are now.
bool can_use_nccl(const GroupState& group, const CollectiveCall& call);
void run_with_nccl(GroupState& group, const CollectiveCall& call);

/// Where slices, and pieces of scratch memory, begin.
inline constexpr std::size_t scratch_line = 128;

/// One collective on its way: heddle's copies and kernels.
class CollectiveRun {
public:
    CollectiveRun(GroupState& group, const CollectiveCall& call);
    void run();

private:
    using Moment = Event GroupState::Rank::*;
    static constexpr Moment entered = &GroupState::Rank::entered, halfway = &GroupState::Rank::halfway,
                            left = &GroupState::Rank::left;
    struct Scratch {
        std::byte* kept = nullptr;     ///< a result that is not where it belongs yet
        std::byte* staging = nullptr;  ///< for combine()
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
    StreamRef stream(std::size_t rank) const { return StreamRef(*call_.streams[rank]); }
    void join_capture();
    void leave_capture();
    void mark(std::size_t rank, Moment moment);
    void await(std::size_t rank, std::size_t other, Moment moment);
    void await_all(std::size_t rank, Moment moment);  ///< of the others
    /// All ranks wait for this moment of all, which they have marked.
    void meet(Moment moment);
    void barrier(Moment moment);
    /// Nothing where both are the same, or empty.
    void copy(std::size_t rank, const Part& to, const Part& from);
    /// Notes a copy for fetch(): n of them at most, none of which overlap.
    void want(const Part& to, const Part& from);
    /// Does the copies noted: as one kernel where they are small and within reach, which starts sooner than the engine that copies between GPUs.
    void fetch(std::size_t rank);

    /// Memory of the rank's device for this call: `kept` bytes, and what combining `count` elements takes. Before work is enqueued.
    void need_scratch(std::size_t rank, std::size_t kept, std::size_t count);
    Part kept(std::size_t rank, std::size_t count) const {
        return {scratch_[rank].kept, count, scratch_[rank].owner};
    }
    /// The rank combines all ranks' `send`, from element `first` on, into `to`.
    void combine(std::size_t rank, const Part& to, std::size_t first);
    void combine_sources(std::size_t rank, const Part& to, const Part* sources, const Part& between);
    bool is_in_place(std::size_t rank) const { return call_.send[rank].data == call_.receive[rank].data; }
    /// Whether kernels of the rank read what belongs to another one where it is.
    bool reaches(std::size_t rank, const Part& part) const;
    /// The same for what another rank sends.
    bool reaches(std::size_t rank, std::size_t other) const {
        return rank == other || reaches(rank, call_.send[other]);
    }
    std::size_t staged(std::size_t rank) const;  ///< pieces that combine() needs at a time
    std::size_t piece(std::size_t count) const;  ///< elements

    GroupState& group_;
    const CollectiveCall& call_;
    const std::size_t n_;
    std::vector<Scratch> scratch_ = {};
    std::array<Fetched, max_ranks> wanted_{};
    std::size_t wanted_count_ = 0;
    std::vector<Array<std::byte>> of_capture_ = {};  ///< scratch memory in a capture
    std::size_t capturing_;                          ///< whose stream was capturing before; n_: none
    std::vector<std::size_t> joined_ = {};
};

}  // namespace heddle::detail
