// Writes bars and gaps as columns. There are about as many bars, and as many gaps, as operations.
#include <algorithm>

#include "timeline/page/page_data.hpp"

namespace heddle::detail {

namespace {

void add_bars(PageColumns& columns, const Trace& trace, const Solution& solution) {
    PageTable<7> table(
        {"barOp", "barStream", "barLane", "barNode", "barLead", "barLength", "barDeduced"});
    TraceIndex stream = no_index;
    Moment before = 0;
    for (const Bar& bar : solution.bars) {
        before = bar.stream == stream ? before : solution.begin;
        stream = bar.stream;
        const std::int64_t node =
            bar.run == no_index ? 0 : trace.node_runs[bar.run].node + std::int64_t{1};
        table.add_row({bar.op, bar.stream, bar.lane, node, bar.start - before, bar.end - bar.start,
                       bar.start_is_deduced ? 1 : 0});
        before = bar.end;
    }
    table.add_to(columns);
}

/// Walks along the bars of a stream, and predicts the bounds of each gap from them.
class GapGuess {
public:
    explicit GapGuess(const Solution& solution) : solution_(solution) {}

    /// Moves to the bar after the gap. Call it for the gaps in the order of Solution::gaps.
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
    /// Returns the operation of the bar after the gap. Returns -1 if there is no such bar.
    std::int64_t op() const { return next_ == last_ ? -1 : std::int64_t{solution_.bars[next_].op}; }
    /// Returns the index of the bar after the gap, among the bars of the stream.
    std::int64_t bar() const { return static_cast<std::int64_t>(next_ - first_); }
    /// Predicts that the next gap begins where `gap` ends, if no bar is between the two.
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
    PageTable<8> table(
        {"gapStream", "gapBar", "gapBegin", "gapEnd", "gapReason", "gapOp", "gapCause", "gapWait"});
    GapGuess guess(solution);
    for (const Gap& gap : solution.gaps) {
        guess.move_to(gap);
        const TraceIndex base = gap.op == no_index ? 0 : gap.op;
        table.add_row({gap.stream, guess.bar(), gap.begin - guess.begin(), gap.end - guess.end(),
                       static_cast<std::int64_t>(gap.reason),
                       (gap.op == no_index ? -1 : std::int64_t{gap.op}) - guess.op(),
                       relative_index(base, gap.cause), relative_index(base, gap.wait)});
        guess.leave(gap);
    }
    table.add_to(columns);
}

}  // namespace

void add_row_columns(PageColumns& columns, const Trace& trace, const Solution& solution) {
    add_bars(columns, trace, solution);
    add_gaps(columns, solution);
}

}  // namespace heddle::detail
