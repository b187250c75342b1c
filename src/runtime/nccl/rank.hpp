// One rank of an NCCL communicator: its end, its errors, and the loss of other ranks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "collective/nccl.hpp"
#include "core/base/errors.hpp"
#include "core/seam/records.hpp"
#include "nccl/rank_state.hpp"

namespace heddle::detail {

/// Ranks of a Communicator have a member, and react to the loss of other ranks. Ranks of a
/// DeviceGroup have none.
class Rank final : public NcclRank {
public:
    class Enqueue;

    /// Construct a Rank before its communicator, so that nothing can fail after the communicator
    /// was created.
    Rank(const Nccl& functions, Device device, std::uint64_t communicator,
         std::unique_ptr<RollMember> member);
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;
    ~Rank() override;
    /// Takes ownership of the communicator. All ranks of one process must begin together, because
    /// destroying one communicator waits until the other communicators are destroyed, too.
    void begin(ncclComm_t comm) noexcept { state_->begin(comm); }
    /// From now on, the loss of other ranks poisons streams and aborts the communicator.
    void watch();

    void check(const char* call, const SourceLocation& where) override;
    void abort() noexcept override;
    void fail(const Failure& reason) noexcept override;
    const RollMember* member() const noexcept override { return member_.get(); }
    void note_failure() noexcept { has_failed_ = true; }
    /// Returns a number for the rank's next collective. All ranks of the communicator in this
    /// process return the same number for the same collective.
    std::uint64_t next_collective() noexcept {
        return communicator_ ^ collectives_.fetch_add(1, std::memory_order_relaxed);
    }
    /// Throws UsageError if the communicator was aborted. The result stays valid while an Enqueue
    /// exists.
    ncclComm_t comm(const char* call, const SourceLocation& where) const;

private:
    /// Returns whether NCCL has detected an error, or the communicator was aborted.
    bool is_broken() const;
    /// Blocks until all collectives have completed, or one of them is known to fail.
    void wait_for_collectives() noexcept;

    const std::shared_ptr<RankState> state_;
    std::atomic<bool> has_failed_{false};
    const std::uint64_t communicator_;  ///< the same for all ranks of the communicator
    std::atomic<std::uint64_t> collectives_{1};
    /// Destroyed first: afterwards, no loss is reported any more.
    const std::unique_ptr<RollMember> member_;
};

/// The enqueueing of one collective by a rank with a member. Construct it before NCCL's calls, and
/// call end() after them. While it exists, no other thread aborts the communicator. Throws the
/// errors of Rank::check().
class Rank::Enqueue {
public:
    Enqueue(Rank& rank, StreamRecord& stream, const char* call, const SourceLocation& where);
    Enqueue(const Enqueue&) = delete;
    Enqueue& operator=(const Enqueue&) = delete;
    ~Enqueue();
    /// Notes the point in the stream at which the collective completes. If a rank was lost
    /// meanwhile, poisons the stream.
    void end() noexcept;

private:
    Rank& rank_;
    StreamRecord& stream_;
    const std::lock_guard<std::recursive_mutex> lock_;
    const bool is_captured_;
    bool has_ended_ = false;
};

}  // namespace heddle::detail
