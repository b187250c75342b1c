#include "timeline/page/picture.hpp"

#include <algorithm>
#include <numeric>

#include "timeline/page/look.hpp"

namespace heddle::detail {

namespace {

/// The most lanes that one thread may have. Calls of one thread are nested or follow one another,
/// so few lanes are enough. Calls that need more lanes are left out.
constexpr std::uint32_t most_lanes = 16;

struct Stretch {
    Moment begin, end;
};

/// Assigns each stretch of time to the first free lane.
class Lanes {
public:
    /// Returns the stretch's lane, or no_lane if all lanes are in use. Call it in order of `begin`.
    std::uint32_t place(const Stretch& stretch) {
        for (std::uint32_t lane = 0; lane < ends_.size(); ++lane)
            if (ends_[lane] <= stretch.begin) {
                ends_[lane] = stretch.end;
                return lane;
            }
        if (ends_.size() == most_lanes) return no_lane;
        ends_.push_back(stretch.end);
        return count() - 1;
    }
    std::uint32_t count() const { return static_cast<std::uint32_t>(ends_.size()); }

private:
    std::vector<Moment> ends_;
};

/// Sorts items by begin. An outer item precedes the items within it. Fast for items that are nearly
/// sorted.
template <class Of> void sort_by_time(std::vector<std::uint32_t>& order, Of stretch_of) {
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        const Stretch x = stretch_of(a), y = stretch_of(b);
        return x.begin != y.begin ? x.begin < y.begin : x.end > y.end;
    };
    if (!std::ranges::is_sorted(order, before)) std::ranges::stable_sort(order, before);
}

std::vector<Lanes> place_calls(const Trace& trace, std::vector<std::uint32_t>& lanes) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < trace.ops.size(); ++i)
        if (is_shown_as_call(trace.ops[i])) order.push_back(i);
    sort_by_time(order, [&](std::uint32_t i) {
        return Stretch{trace.ops[i].call_begin, trace.ops[i].call_end};
    });
    std::vector<Lanes> threads(trace.threads.size());
    lanes.assign(trace.ops.size(), no_lane);
    for (const std::uint32_t i : order) {
        const TraceOp& op = trace.ops[i];
        lanes[i] = threads[op.thread].place({op.call_begin, op.call_end});
    }
    return threads;
}

std::vector<Lanes> place_ranges(const Trace& trace, std::vector<std::uint32_t>& lanes) {
    std::vector<std::uint32_t> order(trace.ranges.size());
    std::iota(order.begin(), order.end(), 0u);
    sort_by_time(order, [&](std::uint32_t i) {
        return Stretch{trace.ranges[i].begin, trace.ranges[i].end};
    });
    std::vector<Lanes> threads(trace.threads.size());
    lanes.assign(trace.ranges.size(), no_lane);
    for (const std::uint32_t i : order) {
        const TraceRange& range = trace.ranges[i];
        lanes[i] = threads[range.thread].place({range.begin, range.end});
    }
    return threads;
}

/// Returns the number of lanes of each stream: 0 if no operation ran or was dropped on the stream.
std::vector<std::uint32_t> stream_lanes(const Trace& trace, const Solution& solution) {
    std::vector<std::uint32_t> lanes(trace.streams.size(), 0);
    for (const Bar& bar : solution.bars)
        lanes[bar.stream] = std::max(lanes[bar.stream], bar.lane + 1);
    for (const TraceOp& op : trace.ops)
        if (op.kind == OpKind::dropped && op.stream != no_index)
            lanes[op.stream] = std::max(lanes[op.stream], 1u);
    return lanes;
}

}  // namespace

Picture picture_of(const Trace& trace, const Solution& solution) {
    Picture picture;
    const std::vector<Lanes> calls = place_calls(trace, picture.call_lanes);
    const std::vector<Lanes> ranges = place_ranges(trace, picture.range_lanes);
    for (TraceIndex i = 0; i < trace.threads.size(); ++i) {
        const std::uint32_t lanes = calls[i].count() + ranges[i].count();
        if (lanes != 0)
            picture.rows.push_back(
                {.is_thread = true, .index = i, .range_lanes = ranges[i].count(), .lanes = lanes});
    }
    const std::vector<std::uint32_t> lanes = stream_lanes(trace, solution);
    const std::size_t threads = picture.rows.size();
    for (TraceIndex i = 0; i < trace.streams.size(); ++i)
        if (lanes[i] != 0)
            picture.rows.push_back(
                {.index = i, .device = trace.streams[i].device, .lanes = lanes[i]});
    std::ranges::stable_sort(picture.rows.begin() + static_cast<std::ptrdiff_t>(threads),
                             picture.rows.end(), {}, &PictureRow::device);
    picture.empty_streams = static_cast<std::size_t>(std::ranges::count(lanes, 0u));
    return picture;
}

}  // namespace heddle::detail
