#include "timeline/solve/longest_waits.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/format.hpp"
#include "timeline/solve/trace_parts.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::detail {

namespace {

/// Adds up waits with the same source lines.
class Waits {
public:
    explicit Waits(const Trace& trace) : trace_(trace) {}

    void add(TraceIndex wait, TraceIndex from, bool is_host, Moment time) {
        if (wait >= trace_.ops.size() || time <= 0) return;
        const TraceOp& op = trace_.ops[wait];
        const TraceOp none;
        const TraceOp& source = from < trace_.ops.size() ? trace_.ops[from] : none;
        WaitShare& share = all_[Key(is_host, is_host ? op.thread : op.stream, op.file, op.line,
                                    source.file, source.line, source.name)];
        if (time > share.longest) {
            share.wait = wait;
            share.from = from;
            share.longest = time;
        }
        share.is_host = is_host;
        share.time += time;
        ++share.count;
    }

    std::vector<WaitShare> longest(std::size_t most) const {
        std::vector<WaitShare> found;
        for (const auto& [key, share] : all_) found.push_back(share);
        std::stable_sort(found.begin(), found.end(),
                         [](const WaitShare& a, const WaitShare& b) { return a.time > b.time; });
        if (found.size() > most) found.resize(most);
        return found;
    }

private:
    using Key = std::tuple<bool, TraceIndex, TraceIndex, std::uint32_t, TraceIndex, std::uint32_t,
                           TraceIndex>;
    const Trace& trace_;
    std::map<Key, WaitShare> all_;
};

/// Finds the operation that ran directly before each operation on the same stream.
class Befores {
public:
    Befores(const Trace& trace, const Solution& solution)
        : trace_(trace), bars_(trace.ops.size()), befores_(trace.ops.size()) {
        const Bar* last = nullptr;
        for (const Bar& bar : solution.bars) {
            if (bar.run != no_index) continue;
            bars_[bar.op] = &bar;
            if (last != nullptr && last->stream == bar.stream) befores_[bar.op] = last;
            last = &bar;
        }
    }
    /// Returns the operation on which the host spent most of the wait. If the wait is part of a
    /// copy's own call, this is the copy, or the operation before the copy if that took longer.
    TraceIndex held_up_by(const Arrow& arrow) const {
        const TraceOp& wait = trace_.ops[arrow.wait];
        const Bar* const own = bars_[arrow.from];
        const Bar* const before = befores_[arrow.from];
        if (wait.kind != OpKind::blocked || wait.reason != WaitReason::copy || own == nullptr ||
            before == nullptr)
            return arrow.from;
        const Moment earlier = std::min(before->end, own->start) - wait.call_begin;
        return earlier > own->end - own->start ? before->op : arrow.from;
    }

private:
    const Trace& trace_;
    /// By operation: its bar, and the previous bar on the same stream.
    std::vector<const Bar*> bars_, befores_;
};

std::string waiter_text(const Trace& trace, const WaitShare& share) {
    const TraceOp& op = trace.ops[share.wait];
    if (share.is_host)
        return "the host's thread " + fit(thread_text(trace, op.thread), 30) +
               (is_host_wait(op) ? "" : ", blocked by a full queue");
    const std::string stream = fit(stream_text(trace, op.stream), 20);
    if (share.from == no_index) return stream + " for work outside of the recording";
    return stream + " for " + fit(stream_text(trace, trace.ops[share.from].stream), 20);
}

std::string text_of(const Trace& trace, const WaitShare& share) {
    const TraceOp& op = trace.ops[share.wait];
    std::string text =
        formatted("  {:>8}  {}", duration_text(share.time), waiter_text(trace, share));
    if (op.reason != WaitReason::user) text += formatted(" ({})", to_string(op.reason));
    if (share.count > 1)
        text += formatted(", {} waits, the longest {}", share.count, duration_text(share.longest));
    text += formatted("\n            wait  {}\n", place_text(trace, op));
    if (share.from == no_index) return text;
    const TraceOp& source = trace.ops[share.from];
    return text + formatted("            for   {}  {}\n", place_text(trace, source),
                            fit(name_text(trace, source), 20));
}

}  // namespace

std::vector<WaitShare> longest_waits(const Trace& trace, const Solution& solution,
                                     std::size_t most) {
    Waits waits(trace);
    for (const Gap& gap : solution.gaps)
        if (gap.reason == GapReason::waited)
            waits.add(gap.wait, gap.cause, false, gap.end - gap.begin);
        else if (gap.reason == GapReason::queue_full)
            waits.add(gap.op, no_index, true, gap.end - gap.begin);
    const Befores befores(trace, solution);
    for (const Arrow& arrow : solution.arrows)
        if (arrow.wait == arrow.to && arrow.held_up)
            waits.add(arrow.wait, befores.held_up_by(arrow), true,
                      arrow.from_end - trace.ops[arrow.wait].call_begin);
    return waits.longest(most);
}

std::string text_of_waits(const Trace& trace, const std::vector<WaitShare>& waits) {
    std::string text;
    for (const WaitShare& share : waits) text += text_of(trace, share);
    return text;
}

}  // namespace heddle::detail
