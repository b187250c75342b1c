// Computes the map of a clock: sorts bounds into seconds, resolves contradictions, and fits lines.
#include <algorithm>
#include <cmath>
#include <utility>

#include "timeline/clock/clocks.hpp"

namespace heddle::detail {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
/// A bound is garbage if its offset differs from the median by more than this, which is over a
/// week.
constexpr std::int64_t most_offset = 1'000'000'000'000'000;
/// Two adjacent seconds constrain each other's lines only if they begin at most this far apart.
constexpr std::int64_t most_apart = 4 * second_ns;
/// At most this many violated bounds are garbage. More are a sign that the clock was set.
constexpr std::ptrdiff_t few = 3;

/// Returns whether the violated bounds of each kind are so few that they count as garbage.
bool are_few(std::span<const ClockBound> bounds, const std::vector<bool>& is_violated) {
    std::ptrdiff_t all[2] = {}, violated[2] = {};
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        ++all[bounds[i].is_upper];
        violated[bounds[i].is_upper] += is_violated[i];
    }
    return violated[0] <= std::max(few, all[0] / 10) && violated[1] <= std::max(few, all[1] / 10);
}

}  // namespace

void ClockMap::solve() {
    seconds_.clear();
    left_out_ = garbage_;
    if (bounds_.empty()) return;
    find_offset();
    make_seconds();
    find_steps();
    for (Second& second : seconds_) leave_out_within(second);
    for (std::size_t i = 0; i < seconds_.size(); ++i) leave_out_around(i);
    for (std::size_t i = 0; i < seconds_.size(); ++i) find_lines(i);
    join_seconds();
}

void ClockMap::find_offset() {
    const auto is_before = [](const Bound& a, const Bound& b) { return a.device < b.device; };
    if (!std::is_sorted(bounds_.begin(), bounds_.end(), is_before))
        std::stable_sort(bounds_.begin(), bounds_.end(), is_before);
    std::vector<std::int64_t> offsets;
    offsets.reserve(bounds_.size());
    for (const Bound& bound : bounds_) offsets.push_back(bound.host - bound.device);
    const auto middle = offsets.begin() + static_cast<std::ptrdiff_t>(offsets.size() / 2);
    std::nth_element(offsets.begin(), middle, offsets.end());
    offset_ = *middle;
}

void ClockMap::make_seconds() {
    bool is_first = true;
    for (const Bound& bound : bounds_) {
        const std::int64_t offset = bound.host - bound.device;
        if (offset < offset_ - most_offset || offset > offset_ + most_offset) {
            ++left_out_;
            continue;
        }
        if (is_first) origin_ = bound.device;
        is_first = false;
        const std::int64_t begin = (bound.device - origin_) / second_ns * second_ns;
        if (seconds_.empty() || seconds_.back().begin != begin)
            seconds_.push_back({.begin = begin, .end = begin + second_ns});
        const std::int64_t wider = bound.is_upper ? resolution_ : -resolution_;
        seconds_.back().bounds.push_back({.x = static_cast<double>(bound.device - origin_ - begin),
                                          .y = static_cast<double>(offset - offset_ + wider),
                                          .is_upper = bound.is_upper,
                                          .is_bracket = bound.is_bracket});
    }
    for (Second& second : seconds_) make_hulls(second);
}

namespace {

/// Returns how many bounds from the beginning on are consistent with each other.
template <class Iterator> std::size_t count_agreeing(Iterator begin, Iterator end) {
    ClockLines lines(begin != end ? begin->y : 0);
    std::size_t count = 0;
    for (Iterator bound = begin; bound != end && lines.keep_within(*bound); ++bound) ++count;
    return count;
}

}  // namespace

/// Splits each second in which the clock was set.
void ClockMap::find_steps() {
    std::vector<Second> all;
    for (Second& second : seconds_) {
        Second after;
        ClockLines lines = second.lines;
        const bool is_possible =
            lines.keep_within(second.lower, 0) && lines.keep_within(second.upper, 0);
        const bool is_split = !is_possible && split_at_step(second, after);
        all.push_back(std::move(second));
        if (is_split) all.push_back(std::move(after));
    }
    seconds_ = std::move(all);
}

/// Moves the bounds after a step to `after`. Returns false if there is no step. A step has three
/// signs: a consistent first part and a consistent last part cover nearly all bounds, and no line
/// satisfies all but a few bounds.
bool ClockMap::split_at_step(Second& second, Second& after) const {
    auto& bounds = second.bounds;
    const std::size_t first = count_agreeing(bounds.begin(), bounds.end());
    const std::size_t last = count_agreeing(bounds.rbegin(), bounds.rend());
    if (first + last + bounds.size() / 40 < bounds.size()) return false;
    const std::vector<bool> violated = find_violated(bounds);
    if (std::count(violated.begin(), violated.end(), true) <= few) return false;
    // A bound that is consistent with both parts may belong to either side of the step, so neither
    // part uses it. A bound that is consistent with neither part is left out later.
    const std::size_t before_end = std::min(first, bounds.size() - last);
    const auto place = bounds.begin() + static_cast<std::ptrdiff_t>(first);
    const double shift = place->x;
    after.begin = second.begin + std::llround(shift);
    after.end = std::exchange(second.end, after.begin);
    after.is_after_step = true;
    after.bounds.assign(place, bounds.end());
    for (ClockBound& bound : after.bounds) bound.x -= shift;
    bounds.resize(before_end);
    make_hulls(second);
    make_hulls(after);
    return true;
}

void ClockMap::make_hulls(Second& second) const {
    second.lower = ClockHull(second.bounds, false);
    second.upper = ClockHull(second.bounds, true);
    second.lines = ClockLines(second.bounds.empty() ? 0 : second.bounds.front().y);
}

double ClockMap::distance(std::size_t from, std::size_t to) const {
    return static_cast<double>(seconds_[to].begin - seconds_[from].begin);
}

/// Returns whether the bounds of two adjacent seconds constrain each other's lines: the seconds
/// begin close together, and the clock was not set in between.
bool ClockMap::are_near(std::size_t a, std::size_t b) const {
    if (std::max(a, b) >= seconds_.size()) return false;
    return std::abs(seconds_[a].begin - seconds_[b].begin) <= most_apart &&
           (a == b || !seconds_[std::max(a, b)].is_after_step);
}

/// Removes the lines of one second that violate the bounds of second `by`. If no line would be
/// left, changes nothing and returns false.
bool ClockMap::narrow(ClockLines& lines, std::size_t second, std::size_t by) const {
    if (!are_near(second, by)) return true;
    ClockLines narrower = lines;
    const double shift = distance(second, by);
    if (!narrower.keep_within(seconds_[by].lower, shift) ||
        !narrower.keep_within(seconds_[by].upper, shift))
        return false;
    lines = std::move(narrower);
    return true;
}

void ClockMap::leave_out_within(Second& second) {
    ClockLines lines = second.lines;
    if (lines.keep_within(second.lower, 0) && lines.keep_within(second.upper, 0)) return;
    const std::vector<bool> is_violated = find_violated(second.bounds);
    const bool is_garbage = are_few(second.bounds, is_violated);
    std::vector<ClockBound> kept, wrong;
    for (std::size_t i = 0; i < is_violated.size(); ++i)
        (is_violated[i] ? wrong : kept).push_back(second.bounds[i]);
    left_out_ += wrong.size();
    second.bounds = std::move(kept);
    make_hulls(second);
    if (is_garbage) return;
    // Many bounds were left out, and they may be right. So `doubt` grows to the largest distance of
    // such a bound from the middle of the remaining lines.
    lines = second.lines;
    lines.keep_within(second.lower, 0);
    lines.keep_within(second.upper, 0);
    for (const ClockBound& bound : wrong)
        second.doubt = std::max(second.doubt, std::abs(bound.y - lines.at(bound.x).middle()));
}

/// Leaves out bounds of three adjacent seconds that contradict most other bounds, if only a few do.
/// Many contradictions would mean that the clock was set.
void ClockMap::leave_out_around(std::size_t middle) {
    ClockLines lines = seconds_[middle].lines;
    const std::size_t first = middle > 0 && are_near(middle, middle - 1) ? middle - 1 : middle;
    const std::size_t last = are_near(middle, middle + 1) ? middle + 1 : middle;
    bool is_possible = true;
    for (std::size_t i = first; i <= last; ++i)
        is_possible = is_possible && narrow(lines, middle, i);
    if (is_possible) return;

    std::vector<ClockBound> all;
    for (std::size_t i = first; i <= last; ++i)
        for (ClockBound bound : seconds_[i].bounds) {
            bound.x += distance(middle, i);
            all.push_back(bound);
        }
    const std::vector<bool> is_violated = find_violated(all);
    bool has_bracket = false;
    for (std::size_t i = 0; i < all.size(); ++i)
        has_bracket = has_bracket || (is_violated[i] && all[i].is_bracket);
    if (has_bracket || !are_few(all, is_violated)) return;
    std::size_t place = 0;
    for (std::size_t i = first; i <= last; ++i) {
        left_out_ += std::erase_if(seconds_[i].bounds,
                                   [&](const ClockBound&) { return is_violated[place++]; });
        make_hulls(seconds_[i]);
    }
}

void ClockMap::find_lines(std::size_t second) {
    ClockLines lines = seconds_[second].lines;
    narrow(lines, second, second);
    if (second > 0) narrow(lines, second, second - 1);
    narrow(lines, second, second + 1);
    seconds_[second].lines = std::move(lines);
}

void ClockMap::join_seconds() {
    for (Second& second : seconds_) {
        if (!second.bounds.empty()) {
            second.first.x = second.bounds.front().x;
            second.last.x = second.bounds.back().x;
        }
        second.first.y = second.lines.at(second.first.x);
        second.last.y = second.lines.at(second.last.x);
    }
    for (std::size_t i = 1; i < seconds_.size(); ++i) {
        Second& before = seconds_[i - 1];
        Second& after = seconds_[i];
        if (after.begin != before.end || after.is_after_step) continue;
        const double end = distance(i - 1, i);
        const ClockRange a = before.lines.at(end), b = after.lines.at(0);
        const ClockRange common{std::max(a.low, b.low), std::min(a.high, b.high)};
        after.is_after_step = common.is_empty();
        if (after.is_after_step) continue;
        before.last = {end, common};
        after.first = {0, common};
    }
}

}  // namespace heddle::detail
