// How much calls and waits cost on the machine of a made-up trace.
#pragma once

#include <cstdint>

namespace heddle_test {

/// Costs in addition to the work itself, in ns. They were measured on a CPU device of an idle
/// machine, and rounded.
struct TimedCosts {
    std::int64_t call = 250;         ///< a call that enqueues work
    std::int64_t order = 200;        ///< a call that records an event or waits
    std::int64_t between = 150;      ///< the time between two calls
    std::int64_t start = 7'000;      ///< from a call to its work, if the workers sleep
    std::int64_t awake = 20'000;     ///< how long an idle worker looks for work before it sleeps
    std::int64_t start_awake = 700;  ///< from a call to its work, if a worker is awake
    std::int64_t next = 100;         ///< between two operations of one stream
    std::int64_t cross = 2'000;      ///< from the end of awaited work to the waiting stream's start
    std::int64_t wake = 2'000;       ///< from the end of awaited work to the wait's return
    std::uint32_t workers = 2;       ///< number of the device's workers
};

}  // namespace heddle_test
