#include "timeline/solve/causes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/format.hpp"
#include "timeline/solve/needless_waits.hpp"
#include "timeline/solve/trace_parts.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::detail {

namespace {

/// What is there less often is no habit.
constexpr std::uint64_t least_count = 4;
/// Of the critical path; what takes less is not worth the first sentence.
constexpr Moment least_share = 5;  // a fifth
/// So many waits of a place are looked at; the others are taken to be like them.
constexpr std::size_t most_asked = 16;

/// Adds up one kind of cause by places in the source.
class Places {
public:
    void add(const Trace& trace, TraceIndex op, Moment time) {
        const TraceOp& described = trace.ops[op];
        Place& place = places_[{described.file, described.line}];
        if (place.op == no_index) place.op = op;
        place.time += time;
        time_ += time;
        ++count_;
    }
    Cause cause(Cause::Kind kind) const {
        Cause made{.kind = kind, .time = time_, .count = count_};
        Moment most = -1;
        for (const auto& [key, place] : places_)
            if (place.time > most) {
                most = place.time;
                made.op = place.op;
            }
        return made;
    }

private:
    struct Place {
        TraceIndex op = no_index;
        Moment time = 0;
    };
    std::map<std::pair<TraceIndex, std::uint32_t>, Place> places_;
    Moment time_ = 0;
    std::uint64_t count_ = 0;
};

/// Copies of pageable memory. The host's own access, of the same thread and place, follows each.
class PageableCopies {
public:
    explicit PageableCopies(const Trace& trace)
        : trace_(trace), is_one_(trace.ops.size()), calls_(trace.threads.size()) {
        std::vector<TraceIndex> last(trace.threads.size(), no_index);
        for (TraceIndex i = 0; i < trace.ops.size(); ++i) {
            const TraceOp& op = trace.ops[i];
            if (op.thread >= last.size() || op.mode != OpMode::run) continue;
            if (op.kind == OpKind::copy) last[op.thread] = i;
            else if (op.kind == OpKind::host_access && op.reason == WaitReason::copy)
                found(last[op.thread], op);
        }
        for (auto& calls : calls_)
            std::ranges::stable_sort(
                calls, {}, [&](TraceIndex copy) { return sane(trace_.ops[copy].call_begin); });
    }
    bool is_one(TraceIndex op) const { return is_one_[op]; }

    /// Calls use(copy, time) for those whose calls overlap a stretch of the thread.
    template <class Use> void within(TraceIndex thread, Moment begin, Moment end, Use use) const {
        if (thread >= calls_.size()) return;
        const auto& calls = calls_[thread];
        auto call = std::ranges::lower_bound(
            calls, begin, {}, [&](TraceIndex copy) { return sane(trace_.ops[copy].call_begin); });
        if (call != calls.begin()) --call;  // it may reach into the stretch
        for (; call != calls.end() && trace_.ops[*call].call_begin < end; ++call) {
            const TraceOp& op = trace_.ops[*call];
            if (!is_known(op.call_begin) || !is_known(op.call_end)) continue;
            const Moment common = std::min(op.call_end, end) - std::max(op.call_begin, begin);
            if (common > 0) use(*call, common);
        }
    }

private:
    void found(TraceIndex copy, const TraceOp& access) {
        if (copy == no_index || is_one_[copy]) return;
        const TraceOp& op = trace_.ops[copy];
        if (op.file != access.file || op.line != access.line) return;
        is_one_[copy] = true;
        calls_[op.thread].push_back(copy);
    }
    const Trace& trace_;
    std::vector<bool> is_one_;                    ///< of each operation
    std::vector<std::vector<TraceIndex>> calls_;  ///< of each thread, by begin
};

class CauseFinder {
public:
    CauseFinder(const Trace& trace, const Solution& solution, const HostActivity& host)
        : trace_(trace), solution_(solution), host_(host), copies_(trace), needless_(trace),
          runs_(trace.ops.size()) {}

    std::vector<Cause> find() {
        for (const CriticalStep& step : solution_.critical) add(step);
        add_round_trips();
        add_stream_waits();
        const Moment whole = solution_.critical.empty()
                                 ? 0
                                 : solution_.critical.back().end - solution_.critical.front().begin;
        std::vector<Cause> causes;
        for (std::size_t i = 0; i < places_.size(); ++i)
            if (const Cause cause = places_[i].cause(static_cast<Cause::Kind>(i));
                cause.count >= least_count && cause.time >= whole / least_share)
                causes.push_back(cause);
        std::ranges::stable_sort(causes, std::ranges::greater(), &Cause::time);
        return causes;
    }

private:
    /// From the end of what the host waited for to the start of what it launched then.
    struct RoundTrip {
        TraceIndex wait = no_index;
        Moment time = 0;  ///< without the program's own code
    };

    void add_to(Cause::Kind kind, TraceIndex op, Moment time) {
        places_[static_cast<std::size_t>(kind)].add(trace_, op, time);
    }

    void add(const CriticalStep& step) {
        const Moment length = step.end - step.begin;
        switch (step.kind) {
        case CriticalStep::Kind::runs:
            runs_[step.op] = &step;
            if (copies_.is_one(step.op)) add_to(Cause::Kind::pageable_copies, step.op, length);
            if (trip_) trips_.push_back(*trip_);
            trip_.reset();
            break;
        case CriticalStep::Kind::waits:
            if (trace_.ops[step.op].kind == OpKind::synchronize) trip_ = RoundTrip{step.op};
            if (trip_) trip_->time += length;
            break;
        case CriticalStep::Kind::host: add_host(step); break;
        }
    }

    void add_host(const CriticalStep& step) {
        const TraceIndex thread = trace_.ops[step.op].thread;
        if (trip_)
            trip_->time += step.end - step.begin - host_.on(thread, step.begin, step.end).own;
        copies_.within(thread, step.begin, step.end, [&](TraceIndex copy, Moment time) {
            add_to(Cause::Kind::pageable_copies, copy, time);
        });
    }

    /// A few that took very long had other reasons.
    void add_round_trips() {
        if (trips_.empty()) return;
        std::vector<Moment> times;
        for (const RoundTrip& trip : trips_) times.push_back(trip.time);
        const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
        std::ranges::nth_element(times, middle);
        for (const RoundTrip& trip : trips_)
            add_to(Cause::Kind::host_waits, trip.wait, std::min(trip.time, 4 * *middle));
    }

    /// Waits for which the streams of the path were idle, by place, waiter and other stream.
    void add_stream_waits() {
        std::map<std::tuple<TraceIndex, std::uint32_t, TraceIndex, TraceIndex>,
                 std::vector<const Gap*>>
            places;
        for (const Gap& gap : solution_.gaps) {
            if (gap.reason != GapReason::waited || gap.op == no_index || gap.cause == no_index ||
                gap.wait == no_index || runs_[gap.op] == nullptr || runs_[gap.cause] == nullptr)
                continue;
            const TraceOp& wait = trace_.ops[gap.wait];
            places[{wait.file, wait.line, wait.stream, wait.other}].push_back(&gap);
        }
        for (const auto& [place, gaps] : places) {
            const auto is_needless = [&](const Gap* gap) {
                return needless_.seems_needless(gap->wait);
            };
            const std::size_t asked = std::min(gaps.size(), most_asked);
            const bool all_are = std::all_of(
                gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(asked), is_needless);
            for (const Gap* const gap : gaps) add_stream_wait(*gap, all_are);
        }
    }

    /// What counts is how long the stream was idle while the path was at what it waited for.
    void add_stream_wait(const Gap& gap, bool is_needless) {
        const CriticalStep& run = *runs_[gap.cause];
        const Moment time = std::min(gap.end, run.end) - std::max(gap.begin, run.begin);
        if (time <= 0) return;
        const bool is_copy = trace_.ops[gap.op].kind == OpKind::copy;
        const bool was_copy = trace_.ops[gap.cause].kind == OpKind::copy;
        if (is_needless) add_to(Cause::Kind::needless_waits, gap.wait, time);
        else if (is_copy != was_copy) add_to(Cause::Kind::turns, gap.wait, time);
    }

    const Trace& trace_;
    const Solution& solution_;
    const HostActivity& host_;
    const PageableCopies copies_;
    NeedlessWaits needless_;
    std::vector<const CriticalStep*> runs_;  ///< of each operation that is on the path
    std::optional<RoundTrip> trip_;
    std::vector<RoundTrip> trips_;
    std::array<Places, static_cast<std::size_t>(Cause::Kind::count_)> places_;
};

/// Returns "main for up".
std::string streams_of(const Trace& trace, const TraceOp& wait) {
    return fit(stream_text(trace, wait.stream), 30) + " for " +
           fit(stream_text(trace, wait.other), 30);
}

}  // namespace

std::vector<Cause> find_causes(const Trace& trace, const Solution& solution,
                               const HostActivity& host) {
    return CauseFinder(trace, solution, host).find();
}

std::string cause_text(const Trace& trace, const Cause& cause, Moment whole) {
    const TraceOp& op = trace.ops[cause.op];
    const std::string place = place_text(trace, op);
    const std::string share = formatted("{} ({}) of the longest chain",
                                        share_text(cause.time, whole), duration_text(cause.time));
    switch (cause.kind) {
    case Cause::Kind::host_waits:
        return formatted(
            "First to mend: the host waits between launches. {} waits, most at {}, and "
            "the launches after them take {}. Enqueue more before waiting.",
            cause.count, place, share);
    case Cause::Kind::pageable_copies:
        return formatted(
            "First to mend: copies of pageable memory, most at {}. The host takes part "
            "in them, for {}. Pinned memory lets them run beside other work.",
            place, share);
    case Cause::Kind::needless_waits:
        return formatted(
            "First to mend: waits that seem needless, most at {} ({}). Streams were idle "
            "for them for {}, and share no memory that was recorded with what they "
            "waited for.",
            place, streams_of(trace, op), share);
    case Cause::Kind::turns:
        return formatted(
            "First to mend: copies and kernels take turns. The waits for each other, "
            "most at {} ({}), take {}. A second buffer lets the next copy run beside the "
            "kernel.",
            place, streams_of(trace, op), share);
    case Cause::Kind::count_: break;
    }
    return "";
}

}  // namespace heddle::detail
