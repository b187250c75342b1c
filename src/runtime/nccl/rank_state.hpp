// The state of a rank that outlives it: a thread may still be aborting its communicator.
#pragma once

#include <mutex>
#include <vector>

#include "core/base/errors.hpp"
#include "core/failure/failure.hpp"
#include "core/seam/records.hpp"
#include "cuda/device/native_event.hpp"
#include "nccl/library.hpp"

namespace heddle::detail {

class RankState {
public:
    RankState(const Nccl& functions, Device on) noexcept : f(functions), device(on) {}
    RankState(const RankState&) = delete;
    RankState& operator=(const RankState&) = delete;
    ~RankState();

    /// Notes that a collective is about to be enqueued on the stream. Call with `enqueue` held.
    void begin_collective(StreamRecord& stream, const SourceLocation& where);
    /// Notes the point in the stream at which that collective completes. Poisons the stream if
    /// there is a failure.
    void end_collective(StreamRecord& stream) noexcept;
    /// Notes that nothing was enqueued after all.
    void cancel_collective(StreamRecord& stream) noexcept;
    /// Notes that a graph contains a collective. It may be launched on any stream of the device.
    void note_captured() noexcept;
    /// Sets the failure unless there is one.
    void set_failure(const Failure& reason) noexcept;
    Failure failure() noexcept;
    /// Poisons all streams on which a collective has not completed. If a graph contains
    /// collectives, poisons all streams of the device that have not completed.
    void poison() noexcept;
    /// Returns whether all collectives have completed. Those of graphs do not count.
    bool is_idle() noexcept;
    /// Returns the communicator; null if it was aborted or destroyed. Call with `enqueue` held.
    ncclComm_t comm() const noexcept { return comm_; }
    void begin(ncclComm_t comm) noexcept { comm_ = comm; }
    /// Aborts the communicator, if there still is one, or waits until another thread has aborted
    /// it. Blocks while a collective is being enqueued, and until graphs with collectives are
    /// destroyed.
    void abort() noexcept;
    /// Waits for collectives, and destroys the communicator. Passes errors to the report hook.
    void destroy() noexcept;

    const Nccl& f;
    const Device device;
    /// Held while the communicator is used. Recursive, because a collective that fails while it is
    /// enqueued aborts the communicator.
    std::recursive_mutex enqueue;

private:
    /// A stream with collectives.
    struct Mark {
        StreamUse use;
        cudaEvent_t event;   ///< recorded after the newest collective
        bool is_enqueueing;  ///< a collective is being enqueued, or `event` is not recorded
    };
    bool is_done(const Mark& mark) const noexcept;
    Mark* find(const StreamRecord& stream) noexcept;
    void poison_device() noexcept;
    void poison(const StreamUse& use) noexcept;

    ncclComm_t take() noexcept;

    ncclComm_t comm_ = nullptr;  ///< guarded by `enqueue`
    std::mutex end_mutex_;       ///< held while the communicator is aborted; taken before `enqueue`
    std::mutex mutex_;           ///< guards the following; taken after `enqueue`
    std::vector<Mark> marks_;
    bool is_captured_ = false;
    Failure failure_;
};

}  // namespace heddle::detail
