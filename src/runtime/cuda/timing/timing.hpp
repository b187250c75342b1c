// Reports to observers when operations ran on CUDA devices, measured by timing events or by CUPTI.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "core/operation/calls.hpp"
#include "core/seam/records.hpp"

namespace heddle::detail::cu {

/// Whether the device alone runs an operation, or the host too.
enum class RunBy : std::uint8_t {
    device,
    host_too,  ///< the host runs at least parts of it, whose end CUPTI does not see
};

/// Times the work that is enqueued on a stream while the object exists, as the operation with the
/// id timed_id(). Uses CUPTI if CUPTI is recording. Otherwise, or if the host takes part, records a
/// timing event after the work, and also before it if the stream is idle. No effect if no observer
/// requests times, or while the stream is capturing. Without observers, costs one memory read.
class TimedOp {
public:
    explicit TimedOp(StreamRecord& stream, RunBy by = RunBy::device) noexcept : stream_(stream) {
        if (is_observed()) [[unlikely]]
            begin(timed_id(), by);
    }
    TimedOp(StreamRecord& stream, std::uint64_t id) noexcept : stream_(stream) {
        begin(id, RunBy::device);
    }
    ~TimedOp() {
        if (is_timed_) [[unlikely]]
            end();
    }
    TimedOp(const TimedOp&) = delete;
    TimedOp& operator=(const TimedOp&) = delete;

private:
    void begin(std::uint64_t id, RunBy by) noexcept;
    void end() noexcept;

    StreamRecord& stream_;
    std::uint64_t id_ = 0;  ///< 0: not timed by events
    cudaEvent_t start_ = nullptr;
    bool is_timed_ = false;
    bool is_by_cupti_ = false;
};

/// Times the newest work on the stream by recording an event after it.
void time_end(StreamRecord& stream) noexcept;

/// Reports all timed operations that have ended to observers, and reads the devices' clocks again.
void tell_timed_ops() noexcept;

}  // namespace heddle::detail::cu
