// How long the machine of a made-up trace takes for what is no work.
#pragma once

#include <cstdint>

namespace heddle_test {

/// How long the machine takes, in nanoseconds: as a CPU device of a machine with nothing else to do
/// was seen to, rounded.
struct TimedCosts {
    std::int64_t call = 250;         ///< a call that enqueues work
    std::int64_t order = 200;        ///< a call that records or waits
    std::int64_t between = 150;      ///< from one call to the next one
    std::int64_t start = 7'000;      ///< from a call to its work, if the workers sleep
    std::int64_t awake = 20'000;     ///< how long they look for work before they do
    std::int64_t start_awake = 700;  ///< from a call to its work, if a worker is awake
    std::int64_t next = 100;         ///< from one operation of a stream to the next one
    std::int64_t cross = 2'000;      ///< from the end of what a stream waits for to its start
    std::int64_t wake = 2'000;       ///< from the end of what the host waits for to its return
    std::uint32_t workers = 2;       ///< of the device
};

}  // namespace heddle_test
