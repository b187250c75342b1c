#include "timeline/solve/host_activity.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/format.hpp"
#include "timeline/solve/slow_calls.hpp"
#include "timeline/solve/trace_parts.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::detail {

HostActivity::HostActivity(const Trace& trace)
    : trace_(trace), host_functions_(trace, OpKind::host_function), calls_(trace.threads.size()),
      ranges_(trace.threads.size()) {
    add_calls();
    add_ranges();
}

void HostActivity::add_calls() {
    const SlowCalls slow(trace_);
    for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
        const TraceOp& op = trace_.ops[i];
        if (op.thread >= calls_.size() || !is_known(op.call_begin) || !is_known(op.call_end) ||
            op.call_end < op.call_begin)
            continue;
        const auto index = static_cast<TraceIndex>(i);
        const bool is_wait = is_host_wait(op) || slow.reason_of(index) == GapReason::queue_full;
        calls_[op.thread].push_back({op.call_begin, op.call_end, index, is_wait});
    }
    const auto is_before = [](const Call& a, const Call& b) {
        return std::pair(a.begin, b.end) < std::pair(b.begin, a.end);
    };
    for (auto& calls : calls_)
        if (!std::is_sorted(calls.begin(), calls.end(), is_before))
            std::stable_sort(calls.begin(), calls.end(), is_before);
    for (auto& calls : calls_) cut_out_waits(calls);
}

void HostActivity::cut_out_waits(std::vector<Call>& calls) {
    std::vector<Call> apart;
    apart.reserve(calls.size());
    for (const Call& call : calls) {
        // If the wait is within the previous call, splits that call: the rest of it follows the
        // wait.
        if (call.is_wait && !apart.empty() && !apart.back().is_wait &&
            apart.back().end > call.begin) {
            Call rest = apart.back();
            apart.back().end = call.begin;
            apart.push_back(call);
            rest.begin = std::min(call.end, rest.end);
            if (rest.begin < rest.end) apart.push_back(rest);
        } else {
            apart.push_back(call);
        }
    }
    calls = std::move(apart);
}

TraceIndex HostActivity::first_work(TraceIndex thread, Moment begin) const {
    if (thread >= calls_.size()) return no_index;
    const auto& calls = calls_[thread];
    auto call = std::lower_bound(calls.begin(), calls.end(), begin,
                                 [](const Call& one, Moment value) { return one.begin < value; });
    const auto is_new_work = [&](const Call& one) {
        return is_work(trace_.ops[one.op]) && trace_.ops[one.op].call_begin >= begin;
    };
    while (call != calls.end() && !is_new_work(*call)) ++call;
    return call != calls.end() ? call->op : no_index;
}

void HostActivity::add_ranges() {
    for (const TraceRange& range : trace_.ranges)
        if (range.thread < ranges_.size() && is_known(range.begin) && is_known(range.end) &&
            range.begin < range.end)
            ranges_[range.thread].push_back({range.begin, range.end, range.name, 0});
    for (auto& ranges : ranges_) {
        std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
            return std::pair(a.begin, b.end) < std::pair(b.begin, a.end);
        });
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            while (!open.empty() && ranges[open.back()].end <= ranges[i].begin) open.pop_back();
            ranges[i].parent = open.empty() ? i : open.back();
            open.push_back(i);
        }
    }
}

TraceIndex HostActivity::range_at(TraceIndex thread, Moment moment) const {
    const auto& ranges = ranges_[thread];
    const auto next =
        std::upper_bound(ranges.begin(), ranges.end(), moment,
                         [](Moment value, const Range& one) { return value < one.begin; });
    if (next == ranges.begin()) return no_index;
    auto i = static_cast<std::size_t>(next - ranges.begin()) - 1;
    while (ranges[i].end <= moment && ranges[i].parent != i) i = ranges[i].parent;
    return ranges[i].end > moment ? ranges[i].name : no_index;
}

namespace {

/// Adds up the parts of one stretch. Its functions must be called in order of time.
class StretchMaker {
public:
    StretchMaker(Moment begin, const HostActivity::OwnCode& tell) : at_(begin), tell_(tell) {}

    /// Adds the thread's own code up to the next call, which enqueued `next`. A short pause between
    /// two calls counts as part of the calls. A pause of about 100 ns is normal, partly because
    /// both calls notify observers.
    void own_until(Moment until, TraceIndex next) {
        constexpr Moment least_own = 500;
        if (until <= at_) return;
        if (before_ != no_index && next != no_index && until - at_ < least_own) {
            made_.calling += until - at_;
            at_ = until;
            return;
        }
        made_.own += until - at_;
        if (tell_) tell_(until - at_, before_, next);
        if (until - at_ > made_.own_end - made_.own_begin) {
            made_.own_begin = at_;
            made_.own_end = until;
            made_.own_after = before_;
            made_.own_before = next;
        }
        at_ = until;
    }
    /// Adds a call that ended at this moment.
    void call_until(Moment until, TraceIndex op, bool is_wait) {
        before_ = op;
        if (until <= at_) return;
        const Moment took = until - std::exchange(at_, until);
        (is_wait ? made_.waiting : made_.calling) += took;
        ++(is_wait ? made_.waits : made_.calls);
        Moment& longest = is_wait ? longest_wait_ : longest_call_;
        if (took < longest) return;
        longest = took;
        (is_wait ? made_.longest_wait : made_.longest_call) = op;
    }
    const HostStretch& made() const { return made_; }

private:
    HostStretch made_;
    Moment at_, longest_wait_ = 0, longest_call_ = 0;
    TraceIndex before_ = no_index;
    const HostActivity::OwnCode& tell_;
};

}  // namespace

void HostActivity::calls(TraceIndex thread, Moment begin, Moment end, const InCall& use) const {
    if (thread >= calls_.size()) return;
    const auto& calls = calls_[thread];
    auto call = std::lower_bound(calls.begin(), calls.end(), begin,
                                 [](const Call& one, Moment value) { return one.begin < value; });
    if (call != calls.begin()) --call;  // the previous call may extend into the stretch
    for (; call != calls.end() && call->begin < end; ++call) {
        const Moment time = std::min(call->end, end) - std::max(call->begin, begin);
        if (time > 0 || call->begin >= begin) use(call->op, std::max<Moment>(time, 0));
    }
}

HostStretch HostActivity::on(TraceIndex thread, Moment begin, Moment end,
                             const OwnCode& own) const {
    if (thread >= calls_.size() || begin >= end) return {};
    const auto& calls = calls_[thread];
    auto call = std::lower_bound(calls.begin(), calls.end(), begin,
                                 [](const Call& one, Moment value) { return one.begin < value; });
    if (call != calls.begin()) --call;  // the previous call may extend into the stretch
    StretchMaker maker(begin, own);
    for (; call != calls.end() && call->begin < end; ++call) {
        maker.own_until(call->begin, call->op);
        maker.call_until(std::min(call->end, end), call->op, call->is_wait);
    }
    maker.own_until(end, call != calls.end() ? call->op : no_index);
    return maker.made();
}

namespace {

std::string short_place(const Trace& trace, TraceIndex op) {
    return place_text(trace, trace.ops[op], 40);
}

std::string own_words(const Trace& trace, const HostStretch& did, const std::string& range) {
    std::string text = "its own code " + duration_text(did.own);
    const Moment longest = did.own_end - did.own_begin;
    std::string detail;
    if (did.own_after != no_index && did.own_before != no_index)
        detail = formatted("from {} to {}", short_place(trace, did.own_after),
                           short_place(trace, did.own_before));
    else if (did.own_before != no_index) detail = "before " + short_place(trace, did.own_before);
    else if (did.own_after != no_index) detail = "after " + short_place(trace, did.own_after);
    if (!detail.empty() && longest < did.own) detail = duration_text(longest) + " " + detail;
    if (!range.empty()) detail += (detail.empty() ? "in '" : ", in '") + fit(range, 40) + "'";
    return detail.empty() ? text : text + " (" + detail + ")";
}

std::string wait_words(const Trace& trace, const HostStretch& did) {
    const TraceOp& op = trace.ops[did.longest_wait];
    const std::string& name = text_of(trace, op.name);
    return formatted(
        "{}{} {} ({})", name.empty() ? "synchronize" : fit(name, 40),
        did.waits > 1 ? formatted(" and {} more", count_text(did.waits - 1, "wait", "waits")) : "",
        duration_text(did.waiting), short_place(trace, did.longest_wait));
}

std::string call_words(const Trace& trace, const HostStretch& did) {
    const TraceOp& op = trace.ops[did.longest_call];
    return formatted("{} {} (the longest: {} at {})", count_text(did.calls, "call", "calls"),
                     duration_text(did.calling), to_string(op.kind),
                     short_place(trace, did.longest_call));
}

}  // namespace

std::string HostActivity::words(TraceIndex thread, Moment begin, Moment end) const {
    const HostStretch did = on(thread, begin, end);
    const TraceIndex range =
        did.own > 0 ? range_at(thread, std::midpoint(did.own_begin, did.own_end)) : no_index;
    std::vector<std::pair<Moment, std::string>> parts;
    const Moment least = (end - begin) / 100;
    if (did.own > least)
        parts.emplace_back(did.own, own_words(trace_, did, text_of(trace_, range)));
    if (did.waits > 0 && did.waiting > least)
        parts.emplace_back(did.waiting, wait_words(trace_, did));
    if (did.calls > 0 && did.calling > least)
        parts.emplace_back(did.calling, call_words(trace_, did));
    std::sort(parts.rbegin(), parts.rend());
    std::string text;
    for (const auto& [time, part] : parts) text += (text.empty() ? "" : ", ") + part;
    return text;
}

std::string HostActivity::during(const Gap& gap) const {
    if (gap.op >= trace_.ops.size()) return "";
    const TraceOp& op = trace_.ops[gap.op];
    if (op.thread >= calls_.size() || !is_known(gap.begin) || !is_known(gap.end)) return "";
    Moment begin = gap.begin;
    std::string text = fit(thread_text(trace_, op.thread), 40) + ": ";
    if (const TraceIndex parent = host_functions_.find(op.parent); parent != no_index) {
        const TraceOp& function = trace_.ops[parent];
        text = fit(name_text(trace_, function), 60) + ": ";
        if (is_known(function.start) && function.start > begin) {
            const Moment start = std::min(function.start, gap.end);
            text += "not begun for " + duration_text(start - begin) + (start < gap.end ? ", " : "");
            begin = start;
        }
    }
    return text + words(op.thread, begin, gap.end);
}

}  // namespace heddle::detail
