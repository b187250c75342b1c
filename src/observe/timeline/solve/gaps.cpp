// Finds why a stream was idle: splits each idle stretch of a row into gaps with one reason each.
#include <algorithm>

#include "timeline/solve/device_load.hpp"
#include "timeline/solve/slow_calls.hpp"
#include "timeline/solve/solving.hpp"

namespace heddle::detail {

namespace {

/// On a CUDA device, a launch alone may take this long to start an operation. On an H200 it takes 1
/// to 3 us.
constexpr Moment usual_latency = 5'000;  // ns

class GapMaker {
public:
    GapMaker(const Solving& solving, Solution& solution)
        : solving_(solving), trace_(solving.trace), solution_(solution), slow_(solving.trace),
          load_(solving.trace, solution.bars) {}

    /// Fills the row with the gaps between its bars.
    void fill_row(std::span<const Bar> bars, RowTotals& row) {
        row_ = &row;
        Moment at = solution_.begin;
        for (const Bar& bar : bars) {
            if (bar.run != no_index) continue;  // the bar of its graph covers this bar
            if (bar.start > at) explain(bar.op, at, bar.start);
            at = std::max(at, bar.end);
        }
        begin_ = at;
        cut({.end = solution_.end,
             .reason = bars.empty() ? GapReason::nothing_enqueued : GapReason::after_last});
        Moment idle = 0;
        for (const Moment one : row.idle) idle += one;
        row.busy = solution_.end - solution_.begin - idle;
    }

private:
    /// Makes a gap of the stretch from `begin_` to `gap.end`. Then moves `begin_` to `gap.end`.
    void cut(Gap gap) {
        if (gap.end <= begin_) return;
        gap.stream = row_->stream;
        gap.begin = std::exchange(begin_, gap.end);
        row_->idle[static_cast<std::size_t>(gap.reason)] += gap.end - gap.begin;
        solution_.gaps.push_back(gap);
    }
    void cut(Moment end, GapReason reason, TraceIndex cause = no_index,
             TraceIndex wait = no_index) {
        cut({.end = std::min(end, start_),
             .reason = reason,
             .op = op_,
             .cause = cause,
             .wait = wait});
    }

    /// Explains why `op` did not start before `start`, although its stream was idle since
    /// `idle_since`.
    void explain(TraceIndex op, Moment idle_since, Moment start) {
        op_ = op;
        begin_ = idle_since;
        start_ = start;
        cut_late_call();
        const Needs& needs = solving_.needs[op];
        const TraceIndex target = solving_.target_of(needs.wait);
        cut(solving_.end_of(target), GapReason::waited, target, needs.wait);
        cut_start();
    }

    /// Cuts off the part in which the host had not enqueued the operation yet. The host was late,
    /// or its call took long.
    void cut_late_call() {
        const TraceOp& op = trace_.ops[op_];
        const TraceIndex parent = solving_.host_functions.find(op.parent);
        if (const auto slow = slow_.reason_of(op_)) {
            cut(op.call_begin, GapReason::launched_late, parent);
            cut(solving_.enqueued(op_), *slow);
        }
        cut(solving_.enqueued(op_), GapReason::launched_late, parent);
    }

    /// Cuts off the last part: the call had returned, and all waits were satisfied.
    void cut_start() {
        if (begin_ >= start_) return;
        const TraceIndex device = device_of(trace_, row_->stream);
        const bool is_cuda = device != no_index && trace_.devices[device].is_cuda;
        const Moment left = start_ - begin_;
        if (!is_cuda || left > usual_latency) {
            if (const TraceIndex unseen = solving_.needs[op_].unseen; unseen != no_index)
                cut(start_, GapReason::waited, no_index, unseen);
            const auto [full, last] = load_.around(op_, begin_, start_);
            if (full >= left - full)
                cut(last, is_cuda ? GapReason::device_busy : GapReason::no_worker);
        }
        cut(start_, GapReason::launch_latency);
    }

    const Solving& solving_;
    const Trace& trace_;
    Solution& solution_;
    const SlowCalls slow_;
    const DeviceLoad load_;
    RowTotals* row_ = nullptr;
    TraceIndex op_ = no_index;      ///< the operation that follows the stretch
    Moment begin_ = 0, start_ = 0;  ///< the part of the stretch that has no reason yet
};

}  // namespace

void make_gaps(const Solving& solving, Solution& solution) {
    const Trace& trace = solving.trace;
    solution.rows.resize(trace.streams.size());
    for (TraceIndex i = 0; i < trace.ops.size(); ++i) {
        const TraceOp& op = trace.ops[i];
        if (op.stream < trace.streams.size() && is_work(op) &&
            (is_known(solving.end_of(i)) || has_no_clock(trace, op.stream)))
            ++solution.rows[op.stream].operations;
    }
    GapMaker maker(solving, solution);
    std::size_t begin = 0;
    for (TraceIndex stream = 0; stream < trace.streams.size(); ++stream) {
        solution.rows[stream].stream = stream;
        std::size_t end = begin;
        while (end < solution.bars.size() && solution.bars[end].stream == stream) ++end;
        maker.fill_row({solution.bars.data() + begin, end - begin}, solution.rows[stream]);
        begin = end;
    }
}

}  // namespace heddle::detail
