// Bars and gaps in columns. A trace has about as many of each as it has operations.
#include <algorithm>

#include "timeline/page/page_data.hpp"

namespace heddle::detail {

namespace {

using Numbers = std::vector<std::int64_t>;

void add_bars(PageColumns& columns, const Trace& trace, const Solution& solution) {
    Numbers ops, streams, lanes, nodes, leads, lengths, deduced;
    TraceIndex stream = no_index;
    Moment before = 0;
    for (const Bar& bar : solution.bars) {
        before = bar.stream == stream ? before : solution.begin;
        stream = bar.stream;
        ops.push_back(bar.op);
        streams.push_back(bar.stream);
        lanes.push_back(bar.lane);
        nodes.push_back(bar.run == no_index ? 0 : trace.node_runs[bar.run].node + std::int64_t{1});
        leads.push_back(bar.start - before);
        lengths.push_back(bar.end - bar.start);
        deduced.push_back(bar.start_is_deduced ? 1 : 0);
        before = bar.end;
    }
    columns.add("barOp", ops);
    columns.add("barStream", streams);
    columns.add("barLane", lanes);
    columns.add("barNode", nodes);
    columns.add("barLead", leads);
    columns.add("barLength", lengths);
    columns.add("barDeduced", deduced);
}

/// Walks the bars of a stream, and says between which times a gap must lie.
class GapGuess {
public:
    explicit GapGuess(const Solution& solution) : solution_(solution) {}

    /// Call in the order of Solution::gaps.
    void move_to(const Gap& gap) {
        const std::vector<Bar>& bars = solution_.bars;
        if (gap.stream != stream_) enter(gap.stream);
        while (next_ != last_ && bars[next_].start < gap.end) {
            begin_ = std::max(begin_, bars[next_].end);
            ++next_;
        }
    }
    Moment begin() const { return begin_; }
    Moment end() const { return next_ == last_ ? solution_.end : solution_.bars[next_].start; }
    /// Returns the operation of the bar behind the gap, or -1.
    std::int64_t op() const { return next_ == last_ ? -1 : std::int64_t{solution_.bars[next_].op}; }
    /// Returns the number of the bar behind the gap, counted in the stream.
    std::int64_t bar() const { return static_cast<std::int64_t>(next_ - first_); }
    /// The next gap begins where this one ends, if no bar lies between.
    void leave(const Gap& gap) { begin_ = gap.end; }

private:
    void enter(TraceIndex stream) {
        const std::vector<Bar>& bars = solution_.bars;
        const auto place_of = [&bars](TraceIndex least) {
            const auto found = std::ranges::lower_bound(bars, least, {}, &Bar::stream);
            return static_cast<std::size_t>(found - bars.begin());
        };
        first_ = next_ = place_of(stream);
        last_ = place_of(stream + 1);
        begin_ = solution_.begin;
        stream_ = stream;
    }
    const Solution& solution_;
    TraceIndex stream_ = no_index;
    std::size_t first_ = 0, next_ = 0, last_ = 0;
    Moment begin_ = 0;
};

void add_gaps(PageColumns& columns, const Solution& solution) {
    Numbers streams, bars, begins, ends, reasons, ops, causes, waits;
    GapGuess guess(solution);
    for (const Gap& gap : solution.gaps) {
        guess.move_to(gap);
        streams.push_back(gap.stream);
        bars.push_back(guess.bar());
        begins.push_back(gap.begin - guess.begin());
        ends.push_back(gap.end - guess.end());
        reasons.push_back(static_cast<std::int64_t>(gap.reason));
        ops.push_back((gap.op == no_index ? -1 : std::int64_t{gap.op}) - guess.op());
        const TraceIndex base = gap.op == no_index ? 0 : gap.op;
        causes.push_back(relative_index(base, gap.cause));
        waits.push_back(relative_index(base, gap.wait));
        guess.leave(gap);
    }
    columns.add("gapStream", streams);
    columns.add("gapBar", bars);
    columns.add("gapBegin", begins);
    columns.add("gapEnd", ends);
    columns.add("gapReason", reasons);
    columns.add("gapOp", ops);
    columns.add("gapCause", causes);
    columns.add("gapWait", waits);
}

}  // namespace

void add_row_columns(PageColumns& columns, const Trace& trace, const Solution& solution) {
    add_bars(columns, trace, solution);
    add_gaps(columns, solution);
}

}  // namespace heddle::detail
