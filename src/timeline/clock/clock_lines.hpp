// Straight lines within bounds: the geometry of clocks.hpp. Works on doubles that are small because
// they are relative to a base.
#pragma once

#include <span>
#include <vector>

namespace heddle::detail {

/// Limit on the drift between two clocks. Crystals differ by less than 1e-4, and the system may
/// slew its clock by 5e-4.
inline constexpr double most_drift = 1e-3;

/// A point that lines must pass above (`is_upper` false) or below.
struct ClockBound {
    double x = 0, y = 0;
    bool is_upper = false;
    /// From a bracket (clocks.hpp), which has more weight than other bounds.
    bool is_bracket = false;
};

/// The bounds of one kind, upper or lower, that limit lines: a convex hull, from left to right.
class ClockHull {
public:
    ClockHull() = default;
    /// Selects the bounds of the kind `is_upper`. `bounds` must be ordered by x.
    ClockHull(std::span<const ClockBound> bounds, bool is_upper);

    /// Returns the bound at `x`. Interpolates between the hull's points. Beyond them, widens the
    /// bound by the largest drift. Returns an infinite bound if there are no points.
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
    /// Returns the middle of the range, or its bound if it has only one.
    double middle() const noexcept;
};

/// All lines y = value + slope * x within some bounds: a convex polygon of (value, slope).
class ClockLines {
public:
    /// Begins with all lines whose values are near `base`.
    explicit ClockLines(double base);
    /// Removes lines that violate a bound. Returns false if none is left.
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
    std::vector<Line> kept_;  ///< scratch memory
};

/// Returns for each bound whether to leave it out, so that some line is within all others. These
/// are the bounds that one line violates: the line with the smallest weighted sum of violations.
std::vector<bool> find_violated(std::span<const ClockBound> bounds);

}  // namespace heddle::detail
