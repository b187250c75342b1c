// When a device had no room for one more operation.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// The stretches in which at least so many of some intervals overlap.
class FullStretches {
public:
    /// The begin or the end of an interval, which counts for several: it changes how many there
    /// are.
    struct Change {
        Moment at;
        int by;
    };
    FullStretches() = default;
    /// `changes`: in any order.
    FullStretches(std::vector<Change> changes, int at_least);

    struct Part {
        Moment full = 0;               ///< how much of it is in such stretches
        Moment last = unknown_moment;  ///< when the last of these ends in it
    };
    /// Returns what lies between two moments.
    Part within(Moment begin, Moment end) const;

private:
    struct Stretch {
        Moment begin, end;
        Moment before;  ///< length of all stretches before it
    };
    Moment full_before(Moment moment) const;
    std::vector<Stretch> all_;  ///< disjoint, in order
};

/// What filled each device. CPU devices share their workers: they are full while each worker has
/// something to run. A CUDA device is full for a kernel while any other kernel runs, for a copy
/// while any copy does, and for a host function while any other one does: how many fit is not
/// known.
class DeviceLoad {
public:
    DeviceLoad(const Trace& trace, std::span<const Bar> bars);
    /// Returns how full its device was for an operation of a stream that was idle meanwhile.
    FullStretches::Part around(TraceIndex op, Moment begin, Moment end) const;

private:
    static constexpr std::size_t parts = 3;
    std::size_t place_of(TraceIndex device) const;
    const Trace& trace_;
    std::vector<std::array<FullStretches, parts>> devices_;  ///< the last one: all CPU devices
};

}  // namespace heddle::detail
