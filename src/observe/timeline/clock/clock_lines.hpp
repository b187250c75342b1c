// Straight lines within bounds: the geometry for clocks.hpp. All values are doubles relative to a
// base, so that they are small and lose no precision.
#pragma once

#include <span>
#include <vector>

namespace heddle::detail {

/// Limit on the drift between two clocks. Crystals differ by less than 1e-4, and the system may
/// slew its clock by 5e-4.
inline constexpr double most_drift = 1e-3;

/// A point that bounds lines. Lines must pass below it if `is_upper` is true, otherwise above it.
struct ClockBound {
    double x = 0, y = 0;
    bool is_upper = false;
    /// True for a bound of a bracket (see clocks.hpp). Brackets have more weight than other bounds.
    bool is_bracket = false;
};

/// The convex hull of all bounds of one kind, upper or lower. Its points are ordered from left to
/// right.
class ClockHull {
public:
    ClockHull() = default;
    /// Selects the upper bounds if `is_upper` is true, otherwise the lower bounds. `bounds` must be
    /// ordered by x.
    ClockHull(std::span<const ClockBound> bounds, bool is_upper);

    /// Returns the bound at `x`. Between points of the hull, interpolates. Beyond the hull, allows
    /// for the largest drift. Returns an infinite bound if there are no points.
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
    /// Returns the middle of the range. If only one end is finite, returns that end.
    double middle() const noexcept;
};

/// All lines y = value + slope * x within some bounds: a convex polygon of (value, slope).
class ClockLines {
public:
    /// Begins with all lines whose values are near `base`.
    explicit ClockLines(double base);
    /// Removes all lines that violate the bound. Returns false if no line is left.
    bool keep_within(const ClockBound& bound);
    bool keep_within(const ClockHull& hull, double shift);
    /// Returns the range of values that these lines have at `x`.
    ClockRange at(double x) const;

private:
    struct Line {
        double value, slope;
    };
    double base_;
    std::vector<Line> corners_;
    std::vector<Line> kept_;  ///< scratch memory
};

/// Returns for each bound whether to leave it out, so that some line is within all remaining
/// bounds. Finds the line with the smallest weighted sum of violations, and leaves out the bounds
/// that it violates.
std::vector<bool> find_violated(std::span<const ClockBound> bounds);

}  // namespace heddle::detail
