// One clock: maps moments of a device's clock to the host's.
//
// Two kinds of facts bound the map. The first is a bracket: two readings of the host's clock,
// before and after an event that the device timed. The second is causality. An operation starts
// after the call that enqueued it began, and ends before the host sees it complete. Each fact is a
// bound: a moment of the device is not before, or not after, a moment of the host.
//
// Within each second, the difference between the two clocks is a straight line. All lines within
// the bounds of that second and its neighbours form a convex set. Where two seconds meet, the value
// of the map is the middle of the values that these lines allow. In between, the map is a straight
// line, except where that line would violate a bound. The error is half of the allowed range.
//
// If bounds contradict each other, the map leaves out as few as possible, and counts them. Such
// bounds are garbage, or the clock was set. Where the device's clock was set, the map has a step,
// too.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/clock/clock_lines.hpp"

namespace heddle::detail {

struct MappedMoment {
    std::int64_t host = 0;   ///< moment on the host's clock
    std::int64_t error = 0;  ///< the largest error of `host`, in either direction
};

/// The range of allowed values at one end of a straight segment of a map.
struct ClockKnot {
    double x = 0;
    ClockRange y{};
};

/// Maps one device's clock to the host's. All moments are in ns. Each clock may have any origin.
/// Not thread-safe.
class ClockMap {
public:
    /// `resolution` is the rounding error of the device's moments. Bounds are widened by it.
    explicit ClockMap(std::int64_t resolution = 0) : resolution_(resolution) {}

    /// Adds a bracket: the device's clock showed `device` between these two moments of the host.
    void add_bracket(std::int64_t host_before, std::int64_t device, std::int64_t host_after);
    /// Declares that the device's moment was not before the host's. For example, an operation
    /// starts on the device after its call began on the host.
    void not_before(std::int64_t device, std::int64_t host) { add({device, host, false, false}); }
    /// Declares that the device's moment was not after the host's. For example, an operation ends
    /// on the device before the host sees that it is complete.
    void not_after(std::int64_t device, std::int64_t host) { add({device, host, true, false}); }

    /// Computes the map. Call it before at(), and again after more bounds were added.
    void solve();

    /// Returns the host's moment. It satisfies all bounds of not_before() and not_after() that were
    /// not left out. Without any bounds, returns the device's moment itself with a large error.
    MappedMoment at(std::int64_t device) const;

    /// Returns the largest error at any moment between the first and the last bound.
    std::int64_t largest_error() const;
    /// Returns the number of bounds that were left out. A bracket counts as two.
    std::uint64_t left_out() const noexcept { return left_out_; }

private:
    struct Bound {
        std::int64_t device, host;
        bool is_upper, is_bracket;
    };
    /// One second of the device's clock with its bounds. A second in which the clock was set is
    /// split in two parts. `x` is relative to the beginning of the second. `y` is the host's moment
    /// minus the device's moment and minus `offset_`.
    struct Second {
        std::int64_t begin = 0, end = 0;  ///< device's moments, relative to `origin_`
        bool is_after_step = false;       ///< the clock was set just before this part of a second
        std::vector<ClockBound> bounds{};
        ClockHull lower{}, upper{};
        ClockLines lines{0};
        /// The allowed values at the two ends. Each end is at the border with the adjacent second
        /// or, if there is none, at the outermost bound.
        ClockKnot first{}, last{};
        double doubt = 0;  ///< if many bounds were left out: the largest error that they cause
    };

    void add(const Bound& bound);
    void find_offset();
    void make_seconds();
    void find_steps();
    bool split_at_step(Second& second, Second& after) const;
    void leave_out_within(Second& second);
    void leave_out_around(std::size_t second);
    void find_lines(std::size_t second);
    void join_seconds();
    void make_hulls(Second& second) const;
    bool is_in_step(std::size_t second, double x) const;
    bool are_near(std::size_t a, std::size_t b) const;
    /// Returns the difference between the beginnings of two seconds.
    double distance(std::size_t from, std::size_t to) const;
    bool narrow(ClockLines& lines, std::size_t second, std::size_t by) const;
    ClockRange range_at(std::size_t second, double x) const;
    ClockRange bounds_at(std::size_t second, double x, bool with_neighbours) const;

    std::int64_t resolution_;
    std::vector<Bound> bounds_;
    std::vector<Second> seconds_;  ///< in order of time
    std::int64_t origin_ = 0;      ///< on the device's clock
    std::int64_t offset_ = 0;      ///< approximate offset from the device's clock to the host's
    std::uint64_t garbage_ = 0, left_out_ = 0;
};

/// Adds an order between two devices: an operation of the first had to end before an operation of
/// the second started. Both maps must be solved already, and must be solved again afterwards.
void add_order(ClockMap& first, std::int64_t end, ClockMap& second, std::int64_t start);

}  // namespace heddle::detail
