// Converts the times of CUDA devices, measured by their own clocks, to the host's clock.
#pragma once

#include <cstdint>
#include <span>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// The times at which an operation or a part of it ran, by a clock of the CUDA device with this
/// index.
struct DeviceRun {
    int device = 0;
    std::uint64_t id = 0;                 ///< TraceOp::id
    std::int64_t start = unknown_moment;  ///< in ns, of any origin; may be unknown
    std::int64_t end = 0;                 ///< in ns, of any origin; known
    DeviceClock clock = DeviceClock::events;
    /// For a graph launch: the node that ran; -1 if it is any node, or several.
    std::int64_t node = -1;
};

/// A device's clock showed `shown` between two moments of the host.
struct DeviceReading {
    int device = 0;  ///< -1 for all devices
    Moment before = 0;
    std::int64_t shown = 0;
    Moment after = 0;
    DeviceClock clock = DeviceClock::events;
};

/// Sets the times of the operations, adds the runs of nodes, and sets the devices' clocks and their
/// errors. The rest of the trace must be complete. Ignores runs of operations that the trace lacks.
void give_device_times(Trace& trace, std::span<const DeviceRun> runs,
                       std::span<const DeviceReading> readings);

/// Orders the runs of nodes by launch, then by start.
void sort_node_runs(Trace& trace);

}  // namespace heddle::detail
