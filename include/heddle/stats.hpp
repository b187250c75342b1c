// Counters of what this process enqueued: the first observer.
#pragma once

#include <cstdint>

namespace heddle {

struct Stats {
    std::uint64_t launches = 0;
    std::uint64_t graph_launches = 0;  ///< whole graphs; their nodes are not counted
    std::uint64_t host_functions = 0;
    std::uint64_t copies = 0;
    std::uint64_t bytes_copied = 0;
    std::uint64_t fills = 0;
    std::uint64_t allocations = 0;
    std::uint64_t bytes_allocated = 0;
    std::uint64_t frees = 0;
    std::uint64_t events_recorded = 0;   ///< by the user; the records inside wait_stream are not counted
    std::uint64_t waits_inserted = 0;    ///< wait_stream, wait_event and scopes that had to wait
    std::uint64_t waits_elided = 0;      ///< and those that were redundant
    std::uint64_t dropped = 0;           ///< operations on poisoned streams
    std::uint64_t synchronizations = 0;  ///< host waits

    friend Stats operator-(Stats a, const Stats& b);
    bool operator==(const Stats&) const = default;
};

/// The counters, over all threads. Counting starts with the first call, so that programs which never ask do not
/// pay for it: call it once before and once after, and subtract. Thread-safe.
Stats stats();

}  // namespace heddle
