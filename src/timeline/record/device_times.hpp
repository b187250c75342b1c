// Brings the times of CUDA devices, which their own clocks tell, onto the host's clock.
#pragma once

#include <cstdint>
#include <span>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// When an operation ran, by the clock of the CUDA device with this index.
struct DeviceRun {
    int device = 0;
    std::uint64_t id = 0;                 ///< TraceOp::id
    std::int64_t start = unknown_moment;  ///< nanoseconds, of any origin; may be unknown
    std::int64_t end = 0;                 ///< likewise, but known
};

/// The device's clock showed `shown` between two moments of the host.
struct DeviceReading {
    int device = 0;
    Moment before = 0;
    std::int64_t shown = 0;
    Moment after = 0;
};

/// Sets the times of the operations, and the devices' clocks and their errors. The trace must be
/// complete but for that. Runs of operations that the trace lacks are left out.
void give_device_times(Trace& trace, std::span<const DeviceRun> runs,
                       std::span<const DeviceReading> readings);

}  // namespace heddle::detail
