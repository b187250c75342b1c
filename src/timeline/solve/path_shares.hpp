// What the critical path consists of.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "timeline/solve/host_activity.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// An awake worker takes far less to start an operation.
inline constexpr Moment least_late = 10'000;

/// Operations of one name on one stream, as far as they are on the critical path.
struct WorkShare {
    TraceIndex op = no_index;  ///< one of them
    Moment time = 0;
    std::uint64_t count = 0;
};

/// Code of the program between two of its calls.
struct CodeShare {
    TraceIndex after = no_index, before = no_index;  ///< operations that the calls enqueued
    Moment time = 0;
};

/// The critical path by what it consists of. All times add up to `whole`.
struct PathShares {
    PathShares(const Trace& trace, const Solution& solution, const HostActivity& host);

    Moment whole = 0;
    Moment work = 0;  ///< operations that run
    std::array<Moment, static_cast<std::size_t>(GapReason::count_)> idle{};  ///< the rest
    Moment late_workers = 0;            ///< launch latency of CPU devices, among `idle`
    std::vector<WorkShare> operations;  ///< the largest first
    std::vector<TraceIndex> loaded;     ///< launches whose calls loaded code

    /// While the host came late: what its threads did, and the program's code that took longest.
    Moment host_own = 0, host_waiting = 0, host_calling = 0;
    CodeShare slowest_code;

    Moment late() const noexcept {
        return idle[static_cast<std::size_t>(GapReason::launched_late)];
    }
};

/// Returns the path in order of time, at most some 20 lines: runs of one kernel are one line, and
/// what is short is left out.
std::string path_in_order(const Trace& trace, const Solution& solution);

}  // namespace heddle::detail
