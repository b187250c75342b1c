#include "timeline/page/svg.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <sstream>
#include <tuple>
#include <unordered_map>

#include "core/base/errors.hpp"
#include "timeline/page/svg_clusters.hpp"
#include "timeline/page/svg_writer.hpp"
#include "timeline/solve/trace_parts.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::detail {

namespace {

constexpr double label_width = 136, right_margin = 14, axis_height = 30, group_height = 24;
constexpr double stream_lane = 22, thread_lane = 13, row_gap = 8, legend_line = 20;
constexpr double least_gap = 3;
constexpr std::size_t most_arrows = 300, few_arrows = 60;

double lane_height(const PictureRow& row) { return row.is_thread ? thread_lane : stream_lane; }
double row_height(const PictureRow& row) { return lane_height(row) * row.lanes; }
std::string class_attribute(const char* name) { return std::string("class=\"") + name + '"'; }
std::string hatching(const Look& look) {
    return std::string("fill=\"url(#heddle-") + look.key + ")\"";
}

/// Draws one picture. Shapes are collected in `body_`, because the height is known only when all
/// shapes are. Labels of bars and gaps are collected in `labels_` and written last, so that no
/// arrow covers them.
class SvgPicture {
public:
    SvgPicture(const Trace& trace, const Solution& solution, const SvgOptions& options)
        : trace_(trace), solution_(solution), options_(options),
          picture_(picture_of(trace, solution)), width_(std::max(options.width, 400u)) {
        const bool is_all = options.from == unknown_moment && options.to == unknown_moment;
        scale_.from = options.from == unknown_moment ? solution.begin : options.from;
        scale_.to = options.to == unknown_moment ? solution.end : options.to;
        if (is_all) scale_.to = std::max(scale_.to, scale_.from + 1);
        if (scale_.to <= scale_.from)
            usage_error({"write_svg", {}},
                        "the interval from {} ns to {} ns is empty: set .from to less than .to, "
                        "within the recording",
                        scale_.from, scale_.to);
        scale_.left = label_width;
        scale_.width = width_ - label_width - right_margin;
    }

    void write(std::ostream& out) {
        place_rows();
        draw_axis();
        draw_rows();
        draw_gaps();
        draw_clusters();
        draw_arrows();
        draw_legend();
        SvgWriter writer(out);
        writer.begin(width_, height_, "Timeline of " + trace_.program);
        writer.rect(class_attribute("ground"), 0, width_, 0, height_);
        out << body_.str() << labels_.str();
        writer.end();
    }

private:
    void place_rows();
    void draw_axis();
    void draw_rows();
    std::vector<const Gap*> wide_gaps() const;
    void draw_gaps();
    void draw_gap(const Gap& gap);
    void draw_clusters();
    void draw_cluster(const PictureLane& lane, const PictureCluster& cluster);
    std::string title_of(const PictureLane& lane, const PictureCluster& cluster) const;
    std::string label_of_cluster(const PictureLane& lane, const PictureCluster& cluster) const;
    std::size_t row_of(TraceIndex op) const;
    bool is_seen(const Arrow& arrow) const;
    void draw_arrows();
    void draw_arrow(const Arrow& arrow, std::size_t from, std::size_t to);
    void draw_legend();

    const Trace& trace_;
    const Solution& solution_;
    const SvgOptions& options_;
    const Picture picture_;
    double width_, height_ = 0;
    TimeScale scale_;
    std::ostringstream body_, labels_;
    SvgWriter draw_{body_}, label_{labels_};
    std::vector<double> tops_;  ///< y coordinate of the top of each row
    /// Index of the row of each stream and each thread; the number of rows if it has no row.
    std::vector<std::size_t> stream_rows_, thread_rows_;
    std::vector<bool> used_ = std::vector<bool>(bar_looks().size());
    std::vector<bool> used_gaps_ = std::vector<bool>(gap_looks().size());
};

/// Places the rows, and draws the heads of their groups.
void SvgPicture::place_rows() {
    stream_rows_.assign(trace_.streams.size(), picture_.rows.size());
    thread_rows_.assign(trace_.threads.size(), picture_.rows.size());
    TraceIndex device = no_index;
    double y = axis_height;
    for (std::size_t i = 0; i < picture_.rows.size(); ++i) {
        const PictureRow& row = picture_.rows[i];
        if (i == 0 || row.device != device) {
            std::string words = "host threads";
            if (!row.is_thread) {
                const TraceDevice& d = trace_.devices[row.device];
                words = device_text(d);
                if (!trace_.text(d.name).empty()) words += ", " + trace_.text(d.name);
            }
            draw_.text(6, y + 16, "head", fitted(words, width_));
            y += group_height;
        }
        device = row.device;
        tops_.push_back(y);
        (row.is_thread ? thread_rows_ : stream_rows_)[row.index] = i;
        y += row_height(row) + row_gap;
    }
    if (picture_.rows.empty()) draw_.text(14, y + 20, "", "Nothing was recorded.");
    height_ = std::max(y, axis_height + 30);
}

void SvgPicture::draw_axis() {
    const auto ns = static_cast<double>(scale_.to - scale_.from);
    const Moment step = nice_step(ns * 100 / scale_.width);
    for (Moment tick = scale_.from / step * step; tick <= scale_.to; tick += step) {
        if (tick < scale_.from) continue;
        const double x = scale_.x(tick);
        const std::string words = axis_words(tick, step);
        draw_.vertical_line(x, axis_height - 6, height_);
        if (x + 3 + text_width(words) < width_) draw_.text(x + 3, 16, "soft", words);
    }
}

void SvgPicture::draw_rows() {
    for (std::size_t i = 0; i < picture_.rows.size(); ++i) {
        const PictureRow& row = picture_.rows[i];
        draw_.rect(class_attribute("row"), label_width, width_ - right_margin, tops_[i],
                   row_height(row));
        const std::string label = row.is_thread ? trace_.text(trace_.threads[row.index].name)
                                                : stream_text(trace_, row.index);
        draw_.text(14, tops_[i] + row_height(row) / 2 + 4, "", fitted(label, label_width - 18));
    }
}

/// Returns the widest gaps, which are drawn.
std::vector<const Gap*> SvgPicture::wide_gaps() const {
    std::vector<const Gap*> wide;
    for (const Gap& gap : solution_.gaps) {
        const bool is_seen = gap.begin < scale_.to && gap.end > scale_.from &&
                             stream_rows_[gap.stream] != picture_.rows.size();
        if (is_seen && scale_.x(gap.end) - scale_.x(gap.begin) >= least_gap) wide.push_back(&gap);
    }
    const std::size_t most = std::min(wide.size(), options_.most_rectangles / 4);
    const auto is_longer = [](const Gap* a, const Gap* b) {
        return a->end - a->begin > b->end - b->begin;
    };
    std::ranges::nth_element(wide, wide.begin() + static_cast<std::ptrdiff_t>(most), is_longer);
    wide.resize(most);
    return wide;
}

void SvgPicture::draw_gap(const Gap& gap) {
    const Look& look = gap_looks()[static_cast<std::size_t>(gap.reason)];
    const double y = tops_[stream_rows_[gap.stream]] + 3, height = stream_lane - 6;
    const double x0 = scale_.x(std::max(gap.begin, scale_.from));
    const double x1 = scale_.x(std::min(gap.end, scale_.to)), middle = (x0 + x1) / 2;
    const std::string words = gap_words(trace_, gap), time = duration_text(gap.end - gap.begin);
    draw_.rect(hatching(look), x0, x1, y, height, words + ", " + time);
    for (const std::string& text :
         {words + "  " + time, words, std::string(look.label), std::string(look.brief)}) {
        const double half = text_width(text) / 2 + 4;
        if (2 * half > x1 - x0 - 6) continue;
        label_.rect(class_attribute("row"), middle - half, middle + half, y, height);
        label_.text(middle, y + 12, "in", fitted(text, 2 * half));
        return;
    }
}

void SvgPicture::draw_gaps() {
    for (const Gap* gap : wide_gaps()) {
        used_gaps_[static_cast<std::size_t>(gap->reason)] = true;
        draw_gap(*gap);
    }
}

std::string SvgPicture::label_of_cluster(const PictureLane& lane,
                                         const PictureCluster& cluster) const {
    if (lane.has_ranges) return trace_.text(trace_.ranges[cluster.bar.item].name);
    if (picture_.rows[lane.row].is_thread) return label_of(trace_, trace_.ops[cluster.bar.item]);
    const Bar& bar = solution_.bars[cluster.bar.item];
    const TraceOp& op = trace_.ops[bar.op];
    if (bar.run == no_index || op.graph == no_index) return label_of(trace_, op);
    const TraceNode& node = trace_.graphs[op.graph].nodes[trace_.node_runs[bar.run].node];
    return trace_.text(node.name);
}

std::string SvgPicture::title_of(const PictureLane& lane, const PictureCluster& cluster) const {
    if (cluster.bars == 1)
        return label_of_cluster(lane, cluster) + ", " +
               duration_text(cluster.bar.end - cluster.bar.start);
    const long percent = std::lround(cluster.share * 100);
    return std::to_string(cluster.bars) + " bars, busy " + std::to_string(percent) + " %";
}

void SvgPicture::draw_cluster(const PictureLane& lane, const PictureCluster& cluster) {
    const PictureRow& row = picture_.rows[lane.row];
    const double height = lane_height(row), width = cluster.x1 - cluster.x0;
    const double y = tops_[lane.row] + lane.lane * height;
    const bool is_thin = cluster.bar.look == BarClass::memory && !row.is_thread;
    const double inset = is_thin ? height / 3 : 1;
    const auto look = static_cast<std::size_t>(cluster.bar.look);
    used_[look] = used_[look] || !lane.has_ranges;
    std::string attributes = class_attribute(lane.has_ranges ? "range" : bar_looks()[look].key);
    if (cluster.bars > 1) attributes += " opacity=\"" + px(0.3 + 0.7 * cluster.share) + '"';
    const double space = cluster.bars == 1 && width > 3 ? 1 : 0;
    draw_.rect(attributes, cluster.x0, cluster.x1 - space, y + inset, height - 2 * inset,
               title_of(lane, cluster));
    if (cluster.bars > 1 || is_thin || width < 24) return;
    std::string label = label_of_cluster(lane, cluster);
    for (const BriefName& name : brief_names())
        if (label == name.name && text_width(label) > width - 6) label = name.brief;
    label_.text(cluster.x0 + 4, y + height / 2 + 4, lane.has_ranges ? "" : "on",
                fitted(label, width - 6));
}

void SvgPicture::draw_clusters() {
    const std::vector<PictureLane> lanes =
        lanes_of(trace_, solution_, picture_, scale_.from, scale_.to);
    const std::size_t most = options_.most_rectangles - options_.most_rectangles / 4;
    for (const PictureCluster& cluster : clusters_of(lanes, scale_, most))
        draw_cluster(lanes[cluster.lane], cluster);
}

/// Returns the index of the operation's row. For a host wait, or an operation without a stream,
/// this is the row of the calling thread. Returns the number of rows if there is no such row.
std::size_t SvgPicture::row_of(TraceIndex op) const {
    if (op == no_index) return picture_.rows.size();
    const TraceOp& o = trace_.ops[op];
    if (!is_host_wait(o) && o.stream != no_index) return stream_rows_[o.stream];
    return o.thread == no_index ? picture_.rows.size() : thread_rows_[o.thread];
}

bool SvgPicture::is_seen(const Arrow& arrow) const {
    return arrow.held_up && arrow.from_end >= scale_.from && arrow.to_start >= scale_.from &&
           arrow.from_end <= scale_.to && arrow.to_start <= scale_.to;
}

void SvgPicture::draw_arrow(const Arrow& arrow, std::size_t from, std::size_t to) {
    const bool is_down = tops_[to] > tops_[from];
    const double y0 = tops_[from] + (is_down ? lane_height(picture_.rows[from]) : 0);
    const double y1 = tops_[to] + (is_down ? 0 : row_height(picture_.rows[to]));
    draw_.arrow(scale_.x(std::min(arrow.from_end, arrow.to_start)), y0, scale_.x(arrow.to_start),
                y1);
}

/// Draws the arrows. If there are many, draws only arrows whose wait caused a visible gap.
void SvgPicture::draw_arrows() {
    std::unordered_map<TraceIndex, Moment> held;
    for (const Gap& gap : solution_.gaps)
        if (gap.wait != no_index) held[gap.wait] += gap.end - gap.begin;
    std::vector<const Arrow*> arrows;
    for (const Arrow& arrow : solution_.arrows)
        if (is_seen(arrow)) arrows.push_back(&arrow);
    const double ns = least_gap * static_cast<double>(scale_.to - scale_.from) / scale_.width;
    const auto least = arrows.size() <= few_arrows ? Moment{-1} : static_cast<Moment>(ns);
    std::set<std::tuple<std::size_t, std::size_t, int>> drawn;
    for (const Arrow* arrow : arrows) {
        const std::size_t from = row_of(arrow->from), to = row_of(arrow->to);
        const auto gap = held.find(arrow->wait);
        const bool is_rows = from < tops_.size() && to < tops_.size() && from != to;
        if (!is_rows || (gap != held.end() ? gap->second : 0) < least) continue;
        const int cell = static_cast<int>(scale_.x(arrow->to_start) / 8);
        if (drawn.size() == most_arrows || !drawn.emplace(from, to, cell).second) continue;
        draw_arrow(*arrow, from, to);
    }
}

/// Draws the legend of the bars and gaps in the picture. Bars are listed first.
void SvgPicture::draw_legend() {
    constexpr double left = 14;
    double x = left, y = height_ + 6;
    const auto entry = [&](const std::string& fill, const char* label) {
        const double width = 19 + text_width(label) + 18;
        if (x + width > width_) x = left, y += legend_line;
        draw_.rect(fill, x, x + 14, y, 11);
        draw_.text(x + 19, y + 9.5, "soft", label);
        x += width;
    };
    for (std::size_t i = 0; i < used_.size(); ++i)
        if (used_[i]) entry(class_attribute(bar_looks()[i].key), bar_looks()[i].label);
    if (x > left) x = left, y += legend_line;
    for (std::size_t i = 0; i < used_gaps_.size(); ++i)
        if (used_gaps_[i]) entry(hatching(gap_looks()[i]), gap_looks()[i].label);
    height_ = y + legend_line;
}

}  // namespace

void write_svg(std::ostream& out, const Trace& trace, const Solution& solution,
               const SvgOptions& options) {
    SvgPicture(trace, solution, options).write(out);
}

}  // namespace heddle::detail
