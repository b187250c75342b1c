// Tells observers when operations ran on CUDA devices, measured by timing events or by CUPTI.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "core/observe/calls.hpp"
#include "core/seam/records.hpp"

namespace heddle::detail::cu {

/// Who runs an operation.
enum class RunBy : std::uint8_t {
    device,
    host_too,  ///< parts of it, or all: CUPTI does not see when they end
};

/// Times what is enqueued on a stream during its lifetime, as the operation with the id
/// timed_id(). By CUPTI, if that is in use. Else, and if the host takes part, by a timing event
/// behind it, and one before it if the stream is idle then. Does nothing if no observer wants
/// times, or while the stream is capturing. Costs one load without observers.
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

/// The same by an event for what was enqueued on the stream just now.
void time_end(StreamRecord& stream) noexcept;

/// Tells observers of all timed operations that have ended, and reads the devices' clocks once
/// more.
void tell_timed_ops() noexcept;

}  // namespace heddle::detail::cu
