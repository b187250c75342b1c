// Finds when a device was too busy to run one more operation.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// Finds the stretches of time in which at least a certain number of intervals overlap.
class FullStretches {
public:
    /// The begin or the end of an interval. It changes the number of overlapping intervals by `by`.
    struct Change {
        Moment at;
        int by;
    };
    FullStretches() = default;
    /// `changes` may be in any order.
    FullStretches(std::vector<Change> changes, int at_least);

    struct Part {
        Moment full = 0;               ///< total length of the full stretches in this part
        Moment last = unknown_moment;  ///< end of the last full stretch in this part
    };
    /// Returns the full stretches between two moments.
    Part within(Moment begin, Moment end) const;

private:
    struct Stretch {
        Moment begin, end;
        Moment before;  ///< total length of all earlier full stretches
    };
    Moment full_before(Moment moment) const;
    std::vector<Stretch> all_;  ///< disjoint, in order of time
};

/// Finds the times at which each device was full. CPU devices share their workers, and are full
/// while every worker is busy. For a CUDA device, the number of kernels that fit is unknown. So the
/// device counts as full for a kernel while another kernel runs. The same rule applies to copies
/// and to host functions.
class DeviceLoad {
public:
    DeviceLoad(const Trace& trace, std::span<const Bar> bars);
    /// Returns how long the device of `op` was full between two moments. The stream of `op` must
    /// have been idle in between.
    FullStretches::Part around(TraceIndex op, Moment begin, Moment end) const;

private:
    static constexpr std::size_t parts = 3;
    std::size_t place_of(TraceIndex device) const;
    const Trace& trace_;
    /// One entry for each GPU. The last entry is for all CPU devices together.
    std::vector<std::array<FullStretches, parts>> devices_;
};

}  // namespace heddle::detail
