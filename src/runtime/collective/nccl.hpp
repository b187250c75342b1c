// The interface to NCCL. nccl implements it; in builds without NCCL, no_nccl does.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <heddle/collective/communicator.hpp>
#include <heddle/collective/detail/collective_call.hpp>

#include "collective/roll_call.hpp"
#include "core/failure/failure.hpp"

namespace heddle::detail {

/// One rank of an NCCL communicator. The rank belongs to one device of this process.
class HEDDLE_HIDDEN NcclRank {
public:
    /// Waits for the rank's collectives. If one of them failed, aborts them instead. Passes
    /// failures to the report hook.
    virtual ~NcclRank() = default;
    /// Throws if a rank is lost, or if NCCL has detected an error.
    virtual void check(const char* call, const SourceLocation& where) = 0;
    /// Ends the rank's collectives. The other ranks lose this rank.
    virtual void abort() noexcept = 0;
    /// Poisons the streams with unfinished collectives of this rank, then aborts.
    virtual void fail(const Failure& reason) noexcept = 0;
    /// Returns the membership that was passed to nccl_join(), or null.
    virtual const RollMember* member() const noexcept = 0;
};

/// One rank's share of a collective, and the rank's stream. Both have been checked: the stream is
/// usable, belongs to the rank's device, and is not recorded by a batch.
struct NcclShare {
    NcclRank* rank;
    StreamRef stream;
    RankCall call;
    std::size_t number, ranks;
};

/// Returns why NCCL is not available. Returns an empty string if it is.
std::string nccl_missing();
/// The number of an id's bytes that belong to NCCL: the first ones.
inline constexpr std::size_t nccl_id_size = 128;
/// Returns a new id with NCCL's bytes alone.
CommunicatorId nccl_id(const SourceLocation& where);
/// Connects the rank to the others. All of them have joined the roll call. Throws RankLost if a
/// rank is lost meanwhile, or if NCCL needs longer than the limit. A limit of 0 is none.
std::unique_ptr<NcclRank> nccl_join(const CommunicatorId& id, std::unique_ptr<RollMember> member,
                                    Device device, std::chrono::milliseconds limit,
                                    const SourceLocation& where);
/// Creates a communicator whose ranks are all in this process.
std::vector<std::unique_ptr<NcclRank>> nccl_join_all(const std::vector<Device>& devices,
                                                     const SourceLocation& where);
/// Enqueues the shares of all ranks of this process as one NCCL group.
void nccl_enqueue(const NcclShare* shares, std::size_t count);

}  // namespace heddle::detail
