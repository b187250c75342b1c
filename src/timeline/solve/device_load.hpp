// Finds the times at which a device had no room for one more operation.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// The stretches of time in which at least a number of intervals overlap.
class FullStretches {
public:
    /// The begin or end of an interval: changes the number of overlapping intervals by `by`.
    struct Change {
        Moment at;
        int by;
    };
    FullStretches() = default;
    /// `changes` may be in any order.
    FullStretches(std::vector<Change> changes, int at_least);

    struct Part {
        Moment full = 0;               ///< total length of such stretches within it
        Moment last = unknown_moment;  ///< end of the last such stretch within it
    };
    /// Returns the part between two moments.
    Part within(Moment begin, Moment end) const;

private:
    struct Stretch {
        Moment begin, end;
        Moment before;  ///< total length of all earlier stretches
    };
    Moment full_before(Moment moment) const;
    std::vector<Stretch> all_;  ///< disjoint, in order
};

/// An index of the times at which each device was full. CPU devices share their workers, and are
/// full while every worker is busy. The number of kernels that fit on a CUDA device is unknown. So
/// it counts as full for a kernel, a copy or a host function while another operation of the same
/// kind runs.
class DeviceLoad {
public:
    DeviceLoad(const Trace& trace, std::span<const Bar> bars);
    /// Returns how long the device of `op` was full between two moments at which its stream was
    /// idle.
    FullStretches::Part around(TraceIndex op, Moment begin, Moment end) const;

private:
    static constexpr std::size_t parts = 3;
    std::size_t place_of(TraceIndex device) const;
    const Trace& trace_;
    /// By device; the last element is shared by all CPU devices.
    std::vector<std::array<FullStretches, parts>> devices_;
};

}  // namespace heddle::detail
