// Straight lines that keep within bounds: the geometry of clocks.hpp. Pure numbers, in doubles that
// are small because they are relative to a base.
#pragma once

#include <span>
#include <vector>

namespace heddle::detail {

/// How fast two clocks may drift apart. Crystals differ by less than 1e-4, and the system may slew
/// its clock by 5e-4.
inline constexpr double most_drift = 1e-3;

/// A line runs above it (`is_upper` false) or below it.
struct ClockBound {
    double x = 0, y = 0;
    bool is_upper = false;
    bool is_bracket = false;  ///< measured for this purpose: worth more than others
};

/// The bounds of one kind that limit lines at all: a convex hull, from left to right.
class ClockHull {
public:
    ClockHull() = default;
    /// Takes those of the bounds that are of that kind. They are ordered by x.
    ClockHull(std::span<const ClockBound> bounds, bool is_upper);

    /// Returns the bound at `x`: between the hull's points straight, beyond them as far away as
    /// drift may lead. Infinite if there are no points.
    double at(double x) const;
    const std::vector<ClockBound>& points() const noexcept { return points_; }

private:
    bool is_upper_ = false;
    std::vector<ClockBound> points_;
};

/// A range of values.
struct ClockRange {
    double low = 0, high = 0;

    bool is_empty() const noexcept { return low > high; }
    /// Returns its middle, or its bound if there is only one.
    double middle() const noexcept;
};

/// All lines y = value + slope * x that keep within some bounds: a convex polygon of
/// (value, slope).
class ClockLines {
public:
    /// All lines about as high as `base`.
    explicit ClockLines(double base);
    /// Removes lines that are beyond a bound. Returns false if none is left.
    bool keep_within(const ClockBound& bound);
    bool keep_within(const ClockHull& hull, double shift);
    /// Returns the values of all these lines at `x`.
    ClockRange at(double x) const;

private:
    struct Line {
        double value, slope;
    };
    double base_;
    std::vector<Line> corners_;
    std::vector<Line> kept_;  ///< scratch
};

/// Returns which bounds to leave out, so that there is a line within the others: those that are
/// violated by the line whose violations have the least sum.
std::vector<bool> find_violated(std::span<const ClockBound> bounds);

}  // namespace heddle::detail
