// Finds calls that took far longer than similar calls, and the reason.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// A call is slow if it took at least 50 us, and more than ten times as long as usual for its kind
/// and device. The usual time is the 10th percentile of the calls' times, because most calls block
/// while a queue stays full.
///
/// The first launch of a kernel on a device is slow because it loads code. This does not apply if
/// all later launches of the kernel are about as slow. Copies of pageable memory are never slow,
/// because their time depends on their size.
class SlowCalls {
public:
    explicit SlowCalls(const Trace& trace);

    /// Returns the reason for a slow call: queue_full or loading_code. Returns nullopt for other
    /// calls.
    std::optional<GapReason> reason_of(TraceIndex op) const;

private:
    struct Kernel {
        TraceIndex first = no_index;  ///< the kernel's first launch
        Moment fastest_later = 0;
        bool has_later = false;
    };
    void find_kernels();
    void find_usual_times();

    const Trace& trace_;
    /// By operation: whether it is a copy of pageable memory.
    const std::vector<bool> is_pageable_;
    std::unordered_map<std::uint64_t, Kernel> kernels_;  ///< by device and name
    std::vector<Moment> usual_;  ///< by device and kind; negative if unknown
};

}  // namespace heddle::detail
