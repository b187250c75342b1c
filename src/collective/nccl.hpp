// The seam to NCCL: src/nccl, or src/no_nccl in its place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <heddle/communicator.hpp>
#include <heddle/detail/collective_call.hpp>

namespace heddle::detail {

/// One rank of NCCL's, for one device of this process.
class NcclRank {
public:
    /// Waits for its collectives, or aborts them if one failed. Reports.
    virtual ~NcclRank() = default;
    virtual void check(const char* call, const SourceLocation& where) = 0;
    virtual void abort() noexcept = 0;
};

/// One rank's share, checked, and the stream it is for: usable, of the rank's device, recorded by no batch.
struct NcclShare {
    NcclRank* rank;
    StreamRef stream;
    RankCall call;
    std::size_t number, ranks;
};

/// Why there is no NCCL; empty: there is.
std::string nccl_missing();
CommunicatorId nccl_id(const SourceLocation& where);
std::unique_ptr<NcclRank> nccl_join(const CommunicatorId& id, std::size_t rank, std::size_t size,
                                    Device device, const SourceLocation& where);
/// All ranks of a communicator within this process.
std::vector<std::unique_ptr<NcclRank>> nccl_join_all(const std::vector<Device>& devices,
                                                     const SourceLocation& where);
/// Enqueues the shares of all ranks that this process has, as one.
void nccl_enqueue(const NcclShare* shares, std::size_t count);

}  // namespace heddle::detail
