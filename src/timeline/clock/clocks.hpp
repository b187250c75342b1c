// One clock: maps moments of a device's clock to the host's.
//
// Two kinds of facts bound the map. A bracket is two readings of the host's clock, before and after
// an event that the device timed. Causality: nothing starts before the call that enqueued it began,
// and nothing ends after the host saw it end. Each fact is a bound: the device's moment was not
// before, or not after, a moment of the host.
//
// In each second the clocks drift apart along a straight line. All lines within the bounds of that
// second and its neighbours form a convex set. Where two seconds meet, the map is in the middle of
// the values that these lines allow. In between it is straight, and is moved where it would violate
// a bound. The error is half of the allowed range.
//
// Of contradictory bounds, as few as possible are left out, and counted: they are garbage, or the
// clock was set. Where the device's clock steps, the map steps too.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/clock/clock_lines.hpp"

namespace heddle::detail {

struct MappedMoment {
    std::int64_t host = 0;   ///< moment on the host's clock
    std::int64_t error = 0;  ///< the largest error of `host`, in either direction
};

/// The allowed values at an end of a straight piece of a map.
struct ClockKnot {
    double x = 0;
    ClockRange y{};
};

/// Maps one device's clock to the host's. All moments are in ns, of any origin. Not thread-safe.
class ClockMap {
public:
    /// `resolution` is the rounding error of the device's moments. Bounds are widened by it.
    explicit ClockMap(std::int64_t resolution = 0) : resolution_(resolution) {}

    /// Adds a reading: the device's clock showed `device` between these two moments of the host.
    void add_bracket(std::int64_t host_before, std::int64_t device, std::int64_t host_after);
    /// Declares that the device's moment was not before that moment of the host. Use it for the
    /// start of an operation whose call began then.
    void not_before(std::int64_t device, std::int64_t host) { add({device, host, false, false}); }
    /// Declares that the device's moment was not after that moment of the host. Use it for the end
    /// of an operation that the host had seen by then.
    void not_after(std::int64_t device, std::int64_t host) { add({device, host, true, false}); }

    /// Computes the map. Call it before at(), and again after more bounds were added.
    void solve();

    /// Returns the host's moment. It violates no bound of not_before() or not_after() that was not
    /// left out. Without any bounds, returns the moment itself with a large error.
    MappedMoment at(std::int64_t device) const;

    /// Returns the largest error between the first and the last bound.
    std::int64_t largest_error() const;
    /// Returns the number of bounds that were left out. A bracket counts as two.
    std::uint64_t left_out() const noexcept { return left_out_; }

private:
    struct Bound {
        std::int64_t device, host;
        bool is_upper, is_bracket;
    };
    /// A second of the device's clock with bounds, or a part of one in which the clock was set. `x`
    /// is relative to its begin. `y` is the host's moment less the device's and less `offset_`.
    struct Second {
        std::int64_t begin = 0, end = 0;  ///< since `origin_`
        bool is_after_step = false;  ///< the clock was set between the previous part and this one
        std::vector<ClockBound> bounds{};
        ClockHull lower{}, upper{};
        ClockLines lines{0};
        /// The allowed values at its two ends: where it meets the adjacent second, otherwise at its
        /// first and last bounds.
        ClockKnot first{}, last{};
        double doubt = 0;  ///< largest distance of bounds left out, if they were many
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
    /// Returns the distance between the begins of two seconds.
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

/// Adds a bound from an operation of one device that had to end before an operation of another
/// device started. Both maps must be solved, and must be solved again afterwards.
void add_order(ClockMap& first, std::int64_t end, ClockMap& second, std::int64_t start);

}  // namespace heddle::detail
