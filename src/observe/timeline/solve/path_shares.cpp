#include "timeline/solve/path_shares.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "timeline/solve/trace_parts.hpp"

namespace heddle::detail {

namespace {

using CodePlace = std::pair<TraceIndex, std::uint32_t>;  // file and line

CodePlace code_place(const Trace& trace, TraceIndex op) {
    return op < trace.ops.size() ? CodePlace(trace.ops[op].file, trace.ops[op].line)
                                 : CodePlace(no_index, 0);
}

/// Adds up the time of each part of the path.
class Adder {
public:
    Adder(PathShares& shares, const Trace& trace, const Solution& solution,
          const HostActivity& host)
        : shares_(shares), trace_(trace), solution_(solution), host_(host) {}

    void add(const CriticalStep& step) {
        const Moment length = step.end - step.begin;
        shares_.whole += length;
        if (step.kind == CriticalStep::Kind::runs) add_work(step.op, length);
        else add_idle(step);
    }

    void finish() {
        for (const auto& [key, share] : work_) shares_.operations.push_back(share);
        std::sort(shares_.operations.begin(), shares_.operations.end(),
                  [](const WorkShare& a, const WorkShare& b) {
                      return std::pair(b.time, a.op) < std::pair(a.time, b.op);
                  });
        for (const auto& [key, share] : code_)
            if (share.time > shares_.slowest_code.time) shares_.slowest_code = share;
    }

private:
    void add_work(TraceIndex op, Moment length) {
        shares_.work += length;
        const TraceOp& described = trace_.ops[op];
        WorkShare& share =
            work_[std::tuple(described.stream, described.kind, described.name, described.graph)];
        if (share.count++ == 0) share.op = op;
        share.time += length;
    }

    void add_to(GapReason reason, TraceIndex op, Moment time) {
        shares_.idle[static_cast<std::size_t>(reason)] += time;
        const TraceIndex device = device_of(trace_, trace_.ops[op].stream);
        if (reason == GapReason::launch_latency && time >= least_late && device != no_index &&
            !trace_.devices[device].is_cuda)
            shares_.late_workers += time;
    }

    /// Divides a step among the gaps of the stream's row. The remaining time counts as the host's,
    /// or as the latency between a wait and its stream.
    void add_idle(const CriticalStep& step) {
        const bool is_host =
            step.kind == CriticalStep::Kind::host || is_host_wait(trace_.ops[step.op]);
        Moment left = step.end - step.begin;
        const auto [first, last] = gaps_of(trace_.ops[step.op].stream);
        auto gap = std::upper_bound(first, last, step.begin,
                                    [](Moment value, const Gap& one) { return value < one.end; });
        for (; gap != last && gap->begin < step.end; ++gap) {
            const bool is_call =
                gap->reason == GapReason::queue_full || gap->reason == GapReason::loading_code;
            if (is_host && (!is_call || gap->op != step.op)) continue;
            const Moment common = std::min(gap->end, step.end) - std::max(gap->begin, step.begin);
            add_to(gap->reason, step.op, common);
            left -= common;
            if (gap->reason == GapReason::loading_code) shares_.loaded.push_back(gap->op);
        }
        add_to(is_host ? GapReason::launched_late : GapReason::launch_latency, step.op, left);
        if (step.kind == CriticalStep::Kind::host) add_host(step);
    }

    void add_host(const CriticalStep& step) {
        const auto add_own = [&](Moment time, TraceIndex after, TraceIndex before) {
            CodeShare& share =
                code_[std::pair(code_place(trace_, after), code_place(trace_, before))];
            share.after = after;
            share.before = before;
            share.time += time;
        };
        const HostStretch did = host_.on(trace_.ops[step.op].thread, step.begin, step.end, add_own);
        shares_.host_own += did.own;
        shares_.host_waiting += did.waiting;
        shares_.host_calling += did.calling;
    }

    using Gaps = std::vector<Gap>::const_iterator;
    std::pair<Gaps, Gaps> gaps_of(TraceIndex stream) const {
        const auto key = [](const Gap& gap) { return gap.stream; };
        const auto& gaps = solution_.gaps;
        const auto first =
            std::lower_bound(gaps.begin(), gaps.end(), stream,
                             [&](const Gap& gap, TraceIndex value) { return key(gap) < value; });
        const auto last =
            std::upper_bound(first, gaps.end(), stream,
                             [&](TraceIndex value, const Gap& gap) { return value < key(gap); });
        return {first, last};
    }

    PathShares& shares_;
    const Trace& trace_;
    const Solution& solution_;
    const HostActivity& host_;
    std::map<std::tuple<TraceIndex, OpKind, TraceIndex, TraceIndex>, WorkShare> work_;
    std::map<std::pair<CodePlace, CodePlace>, CodeShare> code_;
};

}  // namespace

PathShares::PathShares(const Trace& trace, const Solution& solution, const HostActivity& host) {
    Adder adder(*this, trace, solution, host);
    for (const CriticalStep& step : solution.critical) adder.add(step);
    adder.finish();
}

}  // namespace heddle::detail
