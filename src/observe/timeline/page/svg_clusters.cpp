#include "timeline/page/svg_clusters.hpp"

#include <algorithm>
#include <cmath>

namespace heddle::detail {

namespace {

/// All lanes of the picture, and for each row the index of its first lane.
struct LaneTable {
    std::vector<std::size_t> of_thread, of_stream;
    std::vector<PictureLane> lanes;
};

LaneTable empty_lanes(const Trace& trace, const Picture& picture) {
    LaneTable table{.of_thread = std::vector<std::size_t>(trace.threads.size()),
                    .of_stream = std::vector<std::size_t>(trace.streams.size()),
                    .lanes = {}};
    for (std::size_t row = 0; row < picture.rows.size(); ++row) {
        const PictureRow& r = picture.rows[row];
        (r.is_thread ? table.of_thread : table.of_stream)[r.index] = table.lanes.size();
        for (std::uint32_t lane = 0; lane < r.lanes; ++lane)
            table.lanes.push_back({.row = row,
                                   .lane = lane,
                                   .has_ranges = r.is_thread && lane < r.range_lanes,
                                   .bars = {}});
    }
    return table;
}

bool overlaps(Moment begin, Moment end, Moment from, Moment to) {
    return begin < to && end >= from;
}

std::vector<std::uint32_t> range_lanes_of_threads(const Trace& trace, const Picture& picture) {
    std::vector<std::uint32_t> lanes(trace.threads.size(), 0);
    for (const PictureRow& row : picture.rows)
        if (row.is_thread) lanes[row.index] = row.range_lanes;
    return lanes;
}

BarClass class_of_bar(const Trace& trace, const Bar& bar) {
    const TraceOp& op = trace.ops[bar.op];
    if (bar.run == no_index || op.graph == no_index) return class_of(trace, op);
    const TraceNode& node = trace.graphs[op.graph].nodes[trace.node_runs[bar.run].node];
    return class_of(node.kind, trace.text(node.name));
}

/// Merges the bars of one lane into clusters, from left to right, in cells of `step` pixels.
class LaneClusters {
public:
    LaneClusters(const TimeScale& scale, double step, std::size_t lane,
                 std::vector<PictureCluster>& out)
        : scale_(scale), step_(step), lane_(lane), out_(out) {}

    void add(const PictureBar& bar) {
        const double x0 = scale_.x(std::max(bar.start, scale_.from));
        const double x1 = scale_.x(std::min(bar.end, scale_.to));
        if (x1 - x0 >= step_) {
            end_cell();
            out_.push_back({.x0 = x0, .x1 = x1, .lane = lane_, .bar = bar});
            return;
        }
        const double cell = std::floor((x0 - scale_.left) / step_);
        if (cluster_.bars == 0 || cell != cell_) begin_cell(cell, bar);
        ++cluster_.bars;
        busy_ += x1 - x0;
    }
    void end_cell() {
        if (cluster_.bars == 0) return;
        cluster_.share = std::min(1.0, busy_ / step_);
        PictureCluster* const before = out_.empty() ? nullptr : &out_.back();
        if (before != nullptr && looks_same(*before)) {
            before->x1 = cluster_.x1;
            before->bars += cluster_.bars;
        } else {
            out_.push_back(cluster_);
        }
        cluster_.bars = 0;
    }

private:
    bool looks_same(const PictureCluster& before) const {
        return before.lane == lane_ && before.bars > 1 && before.x1 == cluster_.x0 &&
               before.bar.look == cluster_.bar.look &&
               std::abs(before.share - cluster_.share) < 0.05;
    }
    void begin_cell(double cell, const PictureBar& bar) {
        end_cell();
        const double x0 = scale_.left + cell * step_;
        cell_ = cell;
        busy_ = 0;
        cluster_ = {.x0 = x0, .x1 = x0 + step_, .lane = lane_, .bar = bar, .bars = 0};
    }
    const TimeScale& scale_;
    double step_;
    std::size_t lane_;
    std::vector<PictureCluster>& out_;
    PictureCluster cluster_{.bar = {}, .bars = 0};
    double cell_ = 0, busy_ = 0;
};

}  // namespace

std::vector<PictureLane> lanes_of(const Trace& trace, const Solution& solution,
                                  const Picture& picture, Moment from, Moment to) {
    LaneTable table = empty_lanes(trace, picture);
    const std::vector<std::uint32_t> range_lanes = range_lanes_of_threads(trace, picture);
    for (std::uint32_t i = 0; i < trace.ranges.size(); ++i) {
        const TraceRange& range = trace.ranges[i];
        if (picture.range_lanes[i] == no_lane || !overlaps(range.begin, range.end, from, to))
            continue;
        PictureLane& lane = table.lanes[table.of_thread[range.thread] + picture.range_lanes[i]];
        lane.bars.push_back({range.begin, range.end, BarClass::other, i});
    }
    for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
        const TraceOp& op = trace.ops[i];
        if (picture.call_lanes[i] == no_lane || !overlaps(op.call_begin, op.call_end, from, to))
            continue;
        PictureLane& lane =
            table
                .lanes[table.of_thread[op.thread] + range_lanes[op.thread] + picture.call_lanes[i]];
        lane.bars.push_back({op.call_begin, op.call_end, class_of(trace, op), i});
    }
    for (std::uint32_t i = 0; i < solution.bars.size(); ++i) {
        const Bar& bar = solution.bars[i];
        if (!overlaps(bar.start, bar.end, from, to)) continue;
        PictureLane& lane = table.lanes[table.of_stream[bar.stream] + bar.lane];
        lane.bars.push_back({bar.start, bar.end, class_of_bar(trace, bar), i});
    }
    for (PictureLane& lane : table.lanes)
        if (!std::ranges::is_sorted(lane.bars, {}, &PictureBar::start))
            std::ranges::stable_sort(lane.bars, {}, &PictureBar::start);
    return std::move(table.lanes);
}

std::vector<PictureCluster> clusters_of(const std::vector<PictureLane>& lanes,
                                        const TimeScale& scale, std::size_t most) {
    std::vector<PictureCluster> clusters;
    for (double step = 1;; step *= 2) {
        clusters.clear();
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            LaneClusters row(scale, step, i, clusters);
            for (const PictureBar& bar : lanes[i].bars) row.add(bar);
            row.end_cell();
        }
        if (clusters.size() <= most || step > scale.width) return clusters;
    }
}

}  // namespace heddle::detail
