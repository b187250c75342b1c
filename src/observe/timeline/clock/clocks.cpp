#include "timeline/clock/clocks.hpp"

#include <algorithm>
#include <cmath>

namespace heddle::detail {

namespace {

/// A moment with a larger absolute value than this is garbage.
constexpr std::int64_t furthest = std::int64_t{1} << 61;
// The error in ns, over a week, of a moment that nothing bounds.
constexpr std::int64_t unknown_error = 1'000'000'000'000'000;

std::int64_t rounded_error(double error) {
    if (!(error < static_cast<double>(unknown_error))) return unknown_error;
    return static_cast<std::int64_t>(std::ceil(std::max(error, 0.0)));
}

ClockRange between(const ClockKnot& a, const ClockKnot& b, double x) {
    const double part = b.x > a.x ? (x - a.x) / (b.x - a.x) : 0;
    return {a.y.low + (b.y.low - a.y.low) * part, a.y.high + (b.y.high - a.y.high) * part};
}

}  // namespace

void ClockMap::add(const Bound& bound) {
    const auto is_far = [](std::int64_t moment) { return moment < -furthest || moment > furthest; };
    if (is_far(bound.device) || is_far(bound.host)) ++garbage_;
    else bounds_.push_back(bound);
}

void ClockMap::add_bracket(std::int64_t host_before, std::int64_t device, std::int64_t host_after) {
    if (host_after < host_before) {
        garbage_ += 2;
        return;
    }
    add({device, host_before, false, true});
    add({device, host_after, true, true});
}

/// Returns whether `x` is in a stretch in which the clock was set: after the last bound before the
/// step, and before the first bound after the step.
bool ClockMap::is_in_step(std::size_t index, double x) const {
    const Second& second = seconds_[index];
    if (x < second.first.x) return index > 0 && second.is_after_step;
    return x > second.last.x && index + 1 < seconds_.size() && seconds_[index + 1].is_after_step;
}

/// Returns the allowed values at `x`, which may be within the second, after the second, or before
/// the first second.
ClockRange ClockMap::range_at(std::size_t index, double x) const {
    const Second& second = seconds_[index];
    const bool is_before = x < second.first.x;
    const bool is_behind = x > second.last.x;
    if (!is_before && !is_behind) return between(second.first, second.last, x);
    const std::size_t next = is_before ? index - 1 : index + 1;
    if (next >= seconds_.size()) return second.lines.at(x);
    const double shift = distance(index, next);
    const Second& other = seconds_[next];
    if (!is_in_step(index, x))
        return is_before ? between({other.last.x + shift, other.last.y}, second.first, x)
                         : between(second.last, {other.first.x + shift, other.first.y}, x);
    const ClockRange a = second.lines.at(x), b = other.lines.at(x - shift);
    return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

/// Returns the bounds of a second at `x`. If `with_neighbours` is true, the bounds of adjacent
/// seconds count, too.
ClockRange ClockMap::bounds_at(std::size_t index, double x, bool with_neighbours) const {
    ClockRange range{seconds_[index].lower.at(x), seconds_[index].upper.at(x)};
    if (!with_neighbours) return range;
    for (const std::size_t other : {index - 1, index + 1}) {
        if (!are_near(index, other)) continue;
        const double there = x - distance(index, other);
        range.low = std::max(range.low, seconds_[other].lower.at(there));
        range.high = std::min(range.high, seconds_[other].upper.at(there));
    }
    return range;
}

MappedMoment ClockMap::at(std::int64_t device) const {
    if (seconds_.empty()) return {device, unknown_error};
    const std::int64_t clamped = std::clamp(device, -furthest, furthest);
    const auto next = std::upper_bound(
        seconds_.begin(), seconds_.end(), clamped - origin_,
        [](std::int64_t value, const Second& second) { return value < second.begin; });
    const auto index =
        static_cast<std::size_t>(std::max<std::ptrdiff_t>(next - seconds_.begin() - 1, 0));
    const auto x = static_cast<double>(clamped - origin_ - seconds_[index].begin);

    ClockRange range = range_at(index, x);
    double y = range.middle();
    ClockRange bounds = bounds_at(index, x, true);
    if (bounds.is_empty()) bounds = bounds_at(index, x, false);
    if (!bounds.is_empty() && !is_in_step(index, x)) {
        y = std::clamp(y, bounds.low, bounds.high);
        range = {std::max(range.low, bounds.low), std::min(range.high, bounds.high)};
    }
    return {clamped + offset_ + std::llround(y),
            rounded_error(std::max(range.high - y, y - range.low) + seconds_[index].doubt)};
}

std::int64_t ClockMap::largest_error() const {
    std::int64_t largest = seconds_.empty() ? unknown_error : 0;
    for (const Second& second : seconds_) {
        const std::int64_t begin = origin_ + second.begin;
        for (const double x : {second.first.x, second.last.x, (second.first.x + second.last.x) / 2})
            largest = std::max(largest, at(begin + std::llround(x)).error);
    }
    return largest;
}

void add_order(ClockMap& first, std::int64_t end, ClockMap& second, std::int64_t start) {
    const MappedMoment ended = first.at(end), started = second.at(start);
    first.not_after(end, started.host + started.error);
    second.not_before(start, ended.host - ended.error);
}

}  // namespace heddle::detail
