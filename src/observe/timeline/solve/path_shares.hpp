// Splits the critical path into its parts.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "timeline/solve/host_activity.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// Less latency than this is normal. An awake worker starts an operation in far less time.
inline constexpr Moment least_late = 10'000;

/// The share of operations with the same name on the same stream.
struct WorkShare {
    TraceIndex op = no_index;  ///< any one of these operations
    Moment time = 0;
    std::uint64_t count = 0;
};

/// A stretch of the program's own code between two of its calls.
struct CodeShare {
    /// The operations enqueued by the call before this stretch and by the call after it.
    TraceIndex after = no_index, before = no_index;
    Moment time = 0;
};

/// Divides the time of the critical path into parts, which add up to `whole`.
struct PathShares {
    PathShares(const Trace& trace, const Solution& solution, const HostActivity& host);

    Moment whole = 0;
    Moment work = 0;  ///< the time in which operations run
    /// The time in which no operation runs, by reason.
    std::array<Moment, static_cast<std::size_t>(GapReason::count_)> idle{};
    /// The part of `idle` that is launch latency of CPU devices.
    Moment late_workers = 0;
    std::vector<WorkShare> operations;  ///< the largest first
    std::vector<TraceIndex> loaded;     ///< launches that first had to load their code

    /// If the host was late: how its threads spent that time, and which code of the program took
    /// longest.
    Moment host_own = 0, host_waiting = 0, host_calling = 0;
    CodeShare slowest_code;

    Moment late() const noexcept {
        return idle[static_cast<std::size_t>(GapReason::launched_late)];
    }
};

/// Describes the path in order of time, in about 20 lines. Successive runs of one kernel share a
/// line. Short steps are left out.
std::string path_in_order(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
