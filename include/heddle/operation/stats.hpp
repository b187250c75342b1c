// Counters of the operations that this process enqueues.
#pragma once

#include <cstdint>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Counts of operations, as OpCounter::stats() returns them.
struct OpStats {
    /// Calls that launch a kernel. A graph's kernels are not counted when it is launched.
    std::uint64_t launches = 0;
    std::uint64_t graph_launches = 0;  ///< one per graph or batch, regardless of its nodes
    /// Functions enqueued by launch_host() and on_completion().
    std::uint64_t host_functions = 0;
    /// Copies in any direction.
    std::uint64_t copies = 0;
    /// Bytes copied by all these copies.
    std::uint64_t bytes_copied = 0;
    /// Fills by fill() and fill_zero().
    std::uint64_t fills = 0;
    /// Allocations of arrays.
    std::uint64_t allocations = 0;
    /// Bytes allocated by all these allocations.
    std::uint64_t bytes_allocated = 0;
    /// Frees of arrays.
    std::uint64_t frees = 0;
    /// Explicit records of events. Excludes records inside wait_stream().
    std::uint64_t events_recorded = 0;
    std::uint64_t waits_inserted = 0;    ///< by wait_stream(), wait_event() and scopes
    std::uint64_t waits_elided = 0;      ///< redundant waits that were left out
    std::uint64_t dropped = 0;           ///< operations on poisoned streams
    std::uint64_t synchronizations = 0;  ///< host waits

    bool operator==(const OpStats&) const = default;
};
OpStats operator-(OpStats a, const OpStats& b);  ///< subtracts each count

/// Counts the operations that all threads enqueue from its construction on:
///
///     const OpCounter counter;
///     step();
///     const OpStats cost = counter.stats();
///
/// Programs that make no OpCounter do not count. Lifetime: a plain value. Once one was made, the
/// process counts until its end. Errors: the constructor throws OutOfMemory. Thread-safe.
class OpCounter {
public:
    /// Starts to count.
    OpCounter();
    /// Returns the counts since construction.
    OpStats stats() const;

private:
    OpStats before_;
};

/// Returns the counts of the process. Counting starts with the first call or OpCounter.
[[deprecated("make an OpCounter before the work, and call its stats()")]] OpStats stats();

}  // namespace heddle
