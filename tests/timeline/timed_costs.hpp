// The costs of calls and waits on the machine of a made-up trace.
#pragma once

#include <cstdint>

namespace heddle_test {

/// Costs in nanoseconds, beside the work itself. Rounded measurements of a CPU device on an idle
/// machine.
struct TimedCosts {
    std::int64_t call = 250;         ///< of a call that enqueues work
    std::int64_t order = 200;        ///< of a call that records or waits
    std::int64_t between = 150;      ///< between two calls
    std::int64_t start = 7'000;      ///< between a call and its work, if the workers sleep
    std::int64_t awake = 20'000;     ///< how long workers look for work before they sleep
    std::int64_t start_awake = 700;  ///< between a call and its work, if a worker is awake
    std::int64_t next = 100;         ///< between two operations of a stream
    std::int64_t cross = 2'000;      ///< from the end of awaited work to the stream's next start
    std::int64_t wake = 2'000;       ///< from the end of awaited work to the return of the wait
    std::uint32_t workers = 2;       ///< of the device
};

}  // namespace heddle_test
