// Converts times that CUDA devices measured by their own clocks to the host's clock.
#pragma once

#include <cstdint>
#include <span>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// The times at which an operation, or a part of an operation, ran. The clock of the CUDA device
/// with index `device` measured them.
struct DeviceRun {
    int device = 0;
    std::uint64_t id = 0;                 ///< TraceOp::id
    std::int64_t start = unknown_moment;  ///< in ns, since any origin; may be unknown
    std::int64_t end = 0;                 ///< in ns, since any origin; always known
    DeviceClock clock = DeviceClock::events;
    /// For a graph launch: the node that ran. -1 if several nodes or an unknown node ran.
    std::int64_t node = -1;
};

/// A clock reading: a device's clock showed `shown` between two moments of the host.
struct DeviceReading {
    int device = 0;  ///< -1: the reading is valid for all devices
    Moment before = 0;
    std::int64_t shown = 0;
    Moment after = 0;
    DeviceClock clock = DeviceClock::events;
};

/// Sets the times of the operations, and the devices' clocks with their errors. Adds the runs of
/// nodes. All other parts of the trace must already be complete. Ignores runs of operations that
/// are missing in the trace.
void give_device_times(Trace& trace, std::span<const DeviceRun> runs,
                       std::span<const DeviceReading> readings);

/// Sorts the runs of nodes by launch, and then by start.
void sort_node_runs(Trace& trace);

}  // namespace heddle::detail
