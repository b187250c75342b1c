// One clock: maps moments of a device's clock to the host's.
//
// Two kinds of facts bound the map. Brackets: the host's clock before and after something that the
// device timed. Causality: nothing starts before the call that enqueued it began, and nothing ends
// after the host saw it end. Both are bounds: the device's moment was not before, or not after, a
// moment of the host.
//
// In each second the clocks drift apart by a straight line. All lines within the bounds of that
// second and its neighbours are a convex set. Where the seconds meet, the middle of what these
// lines allow is taken. Straight lines are drawn in between, and moved where they would violate a
// bound. Half of what is allowed is the error.
//
// Bounds that contradict each other are left out, as few as possible, and counted: garbage, or a
// clock that was set. Where the device's clock steps, the map does.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/clock/clock_lines.hpp"

namespace heddle::detail {

struct MappedMoment {
    std::int64_t host = 0;   ///< on the host's clock
    std::int64_t error = 0;  ///< how far that may be off, in either direction
};

/// What is allowed at the end of a straight piece of a map.
struct ClockKnot {
    double x = 0;
    ClockRange y{};
};

/// The map of one device's clock. All moments are nanoseconds, of any origin. Not thread-safe.
class ClockMap {
public:
    /// `resolution`: how far the device's moments themselves are off, by rounding. Bounds are taken
    /// to be that much wider.
    explicit ClockMap(std::int64_t resolution = 0) : resolution_(resolution) {}

    /// The device's clock showed `device` between these two moments of the host.
    void add_bracket(std::int64_t host_before, std::int64_t device, std::int64_t host_after);
    /// What the device timed was not before that moment of the host: it is the start of an
    /// operation, whose call began then.
    void not_before(std::int64_t device, std::int64_t host) { add({device, host, false, false}); }
    /// What the device timed was not after that moment of the host: it is the end of an operation,
    /// which the host had seen then.
    void not_after(std::int64_t device, std::int64_t host) { add({device, host, true, false}); }

    /// Finds the map. Call it before at(), and again if there are more bounds.
    void solve();

    /// Returns the host's moment. Never before a bound of not_before() or after one of not_after(),
    /// except for those left out. Without any bounds, the moment itself with a large error.
    MappedMoment at(std::int64_t device) const;

    /// Returns the largest error between the first and the last bound.
    std::int64_t largest_error() const;
    /// Returns how many bounds were left out. A bracket is two.
    std::uint64_t left_out() const noexcept { return left_out_; }

private:
    struct Bound {
        std::int64_t device, host;
        bool is_upper, is_bracket;
    };
    /// A second of the device's clock that has bounds, or a part of one in which the clock was set.
    /// `x` counts from its begin, `y` is the host's moment less the device's and less `offset_`.
    struct Second {
        std::int64_t begin = 0, end = 0;  ///< since `origin_`
        bool is_after_step = false;       ///< the clock was set between the part before and this
        std::vector<ClockBound> bounds{};
        ClockHull lower{}, upper{};
        ClockLines lines{0};
        /// Its ends: where the next second begins, or else at its bounds.
        ClockKnot first{}, last{};
        double doubt = 0;  ///< how far off many bounds were that were left out
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
    std::vector<Second> seconds_;  ///< in order
    std::int64_t origin_ = 0;      ///< on the device's clock
    std::int64_t offset_ = 0;      ///< from the device's clock to the host's, about
    std::uint64_t garbage_ = 0, left_out_ = 0;
};

/// Adds what follows from an operation of one device that had to end before one of another started:
/// the first one's end was not after the other's start. Both maps must be solved, and be solved
/// again afterwards.
void add_order(ClockMap& first, std::int64_t end, ClockMap& second, std::int64_t start);

}  // namespace heddle::detail
