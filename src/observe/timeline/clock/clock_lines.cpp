#include "timeline/clock/clock_lines.hpp"

#include <algorithm>
#include <limits>

namespace heddle::detail {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Lines may violate bounds by this much, in ns: less than the error of rounding to whole ns.
constexpr double tolerance = 0.25;
/// A value that differs from the base by more than this counts as unbounded.
constexpr double far_away = 1e12;

/// Returns the side of the line from `a` to `b` on which the point is: positive for above.
double side(const ClockBound& a, const ClockBound& b, const ClockBound& point) {
    return (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x);
}

}  // namespace

ClockHull::ClockHull(std::span<const ClockBound> bounds, bool is_upper) : is_upper_(is_upper) {
    const double sign = is_upper ? -1 : 1;
    for (const ClockBound& bound : bounds) {
        if (bound.is_upper != is_upper) continue;
        if (!points_.empty() && points_.back().x == bound.x) {
            if (sign * bound.y <= sign * points_.back().y) continue;
            points_.pop_back();
        }
        while (points_.size() >= 2 &&
               sign * side(points_[points_.size() - 2], points_.back(), bound) >= 0)
            points_.pop_back();
        points_.push_back(bound);
    }
}

double ClockHull::at(double x) const {
    const double sign = is_upper_ ? 1 : -1;
    if (points_.empty()) return sign * infinity;
    const auto next =
        std::lower_bound(points_.begin(), points_.end(), x,
                         [](const ClockBound& point, double value) { return point.x < value; });
    if (next == points_.begin()) return next->y + sign * most_drift * (next->x - x);
    const ClockBound& before = *(next - 1);
    if (next == points_.end()) return before.y + sign * most_drift * (x - before.x);
    return before.y + (next->y - before.y) * ((x - before.x) / (next->x - before.x));
}

double ClockRange::middle() const noexcept {
    const bool is_low_known = low > -far_away / 2, is_high_known = high < far_away / 2;
    if (is_low_known != is_high_known) return is_low_known ? low : high;
    return low + (high - low) / 2;
}

ClockLines::ClockLines(double base)
    : base_(base), corners_{{-far_away, -most_drift},
                            {far_away, -most_drift},
                            {far_away, most_drift},
                            {-far_away, most_drift}} {}

bool ClockLines::keep_within(const ClockBound& bound) {
    const double sign = bound.is_upper ? -1 : 1;
    const auto room = [&](const Line& line) {
        return sign * (line.value + line.slope * bound.x - (bound.y - base_)) + tolerance;
    };
    kept_.clear();
    for (std::size_t i = 0; i < corners_.size(); ++i) {
        const Line& from = corners_[i];
        const Line& to = corners_[(i + 1) % corners_.size()];
        const double room_from = room(from), room_to = room(to);
        if (room_from >= 0) kept_.push_back(from);
        if ((room_from >= 0) == (room_to >= 0)) continue;
        const double part = room_from / (room_from - room_to);
        kept_.push_back({from.value + (to.value - from.value) * part,
                         from.slope + (to.slope - from.slope) * part});
    }
    corners_.swap(kept_);
    return !corners_.empty();
}

bool ClockLines::keep_within(const ClockHull& hull, double shift) {
    for (ClockBound bound : hull.points()) {
        bound.x += shift;
        if (!keep_within(bound)) return false;
    }
    return true;
}

ClockRange ClockLines::at(double x) const {
    ClockRange range{infinity, -infinity};
    for (const Line& line : corners_) {
        range.low = std::min(range.low, base_ + line.value + line.slope * x);
        range.high = std::max(range.high, base_ + line.value + line.slope * x);
    }
    return range;
}

namespace {

constexpr double bracket_weight = 100;

double weight_of(const ClockBound& bound) { return bound.is_bracket ? bracket_weight : 1; }

/// Of all lines with one slope, the line with the smallest violation.
struct BestLine {
    double slope = 0, value = 0, violation = infinity;
};

BestLine best_line(std::span<const ClockBound> bounds, double slope,
                   std::vector<std::pair<double, std::size_t>>& heights) {
    heights.clear();
    // The total weight of the lower bounds above the line, and of the upper bounds below it.
    double lowers = 0, uppers = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        heights.emplace_back(bounds[i].y - slope * bounds[i].x, i);
        if (!bounds[i].is_upper) lowers += weight_of(bounds[i]);
    }
    std::sort(heights.begin(), heights.end());
    BestLine best{.slope = slope, .value = heights.front().first};
    for (const auto& [height, i] : heights) {
        best.value = height;
        (bounds[i].is_upper ? uppers : lowers) +=
            bounds[i].is_upper ? weight_of(bounds[i]) : -weight_of(bounds[i]);
        if (uppers >= lowers) break;
    }
    best.violation = 0;
    for (const auto& [height, i] : heights) {
        const double beyond = bounds[i].is_upper ? best.value - height : height - best.value;
        best.violation += std::max(beyond, 0.0) * weight_of(bounds[i]);
    }
    return best;
}

/// Reduces a long list of bounds to those that matter: all brackets, and the tightest bounds of
/// each short stretch.
std::vector<ClockBound> tightest(std::span<const ClockBound> bounds) {
    constexpr std::size_t stretches = 100, most = 4;
    std::vector<ClockBound> kept, stretch;
    for (std::size_t i = 0; i < stretches; ++i) {
        const std::size_t begin = bounds.size() * i / stretches;
        const std::size_t end = bounds.size() * (i + 1) / stretches;
        for (const bool is_upper : {false, true}) {
            stretch.clear();
            for (const ClockBound& bound : bounds.subspan(begin, end - begin)) {
                if (bound.is_upper != is_upper) continue;
                (bound.is_bracket ? kept : stretch).push_back(bound);
            }
            const auto last =
                stretch.begin() + static_cast<std::ptrdiff_t>(std::min(most, stretch.size()));
            std::partial_sort(stretch.begin(), last, stretch.end(),
                              [&](const ClockBound& a, const ClockBound& b) {
                                  return is_upper ? a.y < b.y : a.y > b.y;
                              });
            kept.insert(kept.end(), stretch.begin(), last);
        }
    }
    return kept;
}

}  // namespace

std::vector<bool> find_violated(std::span<const ClockBound> bounds) {
    std::vector<bool> is_violated(bounds.size());
    if (bounds.empty()) return is_violated;
    const bool are_many = bounds.size() > 1000;
    const std::vector<ClockBound> few = are_many ? tightest(bounds) : std::vector<ClockBound>();
    const std::span<const ClockBound> used = are_many ? std::span(few) : bounds;
    std::vector<std::pair<double, std::size_t>> scratch;
    // A search works because the smallest violation is a convex function of the slope.
    double low = -most_drift, high = most_drift;
    for (int i = 0; i < 50; ++i) {
        const double third = (high - low) / 3;
        if (best_line(used, low + third, scratch).violation <=
            best_line(used, high - third, scratch).violation)
            high -= third;
        else low += third;
    }
    const BestLine best = best_line(used, (low + high) / 2, scratch);
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        const double at = best.value + best.slope * bounds[i].x;
        const double beyond = bounds[i].is_upper ? at - bounds[i].y : bounds[i].y - at;
        is_violated[i] = beyond > tolerance / 2;
    }
    return is_violated;
}

}  // namespace heddle::detail
