// Finds calls that took far longer than similar calls, with the reason.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// A call is slow if it took at least 50 us and over ten times as long as usual for its kind on its
/// device. The usual time is the lower tenth of the calls, because most calls block where a queue
/// stays full.
///
/// A slow call counts as loading code if it is the first launch of its kernel on the device. It
/// does not if all later launches of the kernel were about as slow. Copies of pageable memory are
/// never slow: their time depends on their size.
class SlowCalls {
public:
    explicit SlowCalls(const Trace& trace);

    /// Returns queue_full or loading_code for slow calls, nullopt for others.
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
    /// For each operation: whether it is a copy of pageable memory.
    const std::vector<bool> is_pageable_;
    std::unordered_map<std::uint64_t, Kernel> kernels_;  ///< by device and name
    std::vector<Moment> usual_;  ///< by device and kind; negative if unknown
};

}  // namespace heddle::detail
