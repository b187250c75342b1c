// Splits the critical path into its parts.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "timeline/solve/host_activity.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// A shorter latency is normal: an awake worker takes far less to start an operation.
inline constexpr Moment least_late = 10'000;

/// The part of the critical path that operations of one name on one stream take.
struct WorkShare {
    TraceIndex op = no_index;  ///< one of these operations
    Moment time = 0;
    std::uint64_t count = 0;
};

/// A stretch of the program's own code between two of its calls.
struct CodeShare {
    TraceIndex after = no_index, before = no_index;  ///< operations that the calls enqueued
    Moment time = 0;
};

/// The critical path by its parts. All times add up to `whole`.
struct PathShares {
    PathShares(const Trace& trace, const Solution& solution, const HostActivity& host);

    Moment whole = 0;
    Moment work = 0;  ///< time in which operations run
    /// The rest of the time, by reason.
    std::array<Moment, static_cast<std::size_t>(GapReason::count_)> idle{};
    Moment late_workers = 0;            ///< launch latency of CPU devices, among `idle`
    std::vector<WorkShare> operations;  ///< the largest first
    std::vector<TraceIndex> loaded;     ///< launches whose calls loaded code

    /// How the host's threads spent the time in which the host was late, and the code of the
    /// program that took longest.
    Moment host_own = 0, host_waiting = 0, host_calling = 0;
    CodeShare slowest_code;

    Moment late() const noexcept {
        return idle[static_cast<std::size_t>(GapReason::launched_late)];
    }
};

/// Returns the path in order of time, in about 20 lines at most. Runs of one kernel share a line,
/// and short steps are left out.
std::string path_in_order(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
