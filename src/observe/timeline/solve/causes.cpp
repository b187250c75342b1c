#include "timeline/solve/causes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/format.hpp"
#include "timeline/solve/fewer_calls.hpp"
#include "timeline/solve/lone_streams.hpp"
#include "timeline/solve/needless_waits.hpp"
#include "timeline/solve/pageable_copies.hpp"
#include "timeline/solve/path_shares.hpp"
#include "timeline/solve/trace_parts.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::detail {

namespace {

/// A cause must occur this often: fewer occurrences are not worth a report.
constexpr std::uint64_t least_count = 4;
/// To be named in the first sentence, a cause must have this share of the critical path.
constexpr Moment least_share = 5;  // 1 / 5
/// The most waits of one source line that are examined. Further ones are assumed to be similar.
constexpr std::size_t most_asked = 16;
/// With fewer operations than this, a batch saves too little time.
constexpr std::uint64_t least_costly = 100;
/// With fewer round trips than this, every very long one counts as an exception.
constexpr std::size_t few_trips = 100;

/// Adds up the time of one kind of cause, for each source line.
class Places {
public:
    void add(const Trace& trace, TraceIndex op, Moment time, std::uint64_t count = 1,
             TraceIndex needed = no_index) {
        const TraceOp& described = trace.ops[op];
        Place& place = places_[{described.file, described.line}];
        if (place.op == no_index) {
            place.op = op;
            place.needed = needed;
        }
        place.time += time;
        time_ += time;
        count_ += count;
    }
    Moment time() const noexcept { return time_; }
    std::uint64_t count() const noexcept { return count_; }
    Cause cause(Cause::Kind kind) const {
        Cause made{.kind = kind, .time = time_, .count = count_};
        Moment most = -1;
        for (const auto& [key, place] : places_)
            if (place.time > most) {
                most = place.time;
                made.op = place.op;
                made.needed = place.needed;
            }
        return made;
    }

private:
    struct Place {
        TraceIndex op = no_index, needed = no_index;
        Moment time = 0;
    };
    std::map<std::pair<TraceIndex, std::uint32_t>, Place> places_;
    Moment time_ = 0;
    std::uint64_t count_ = 0;
};

/// Adds up the time that calls spent in copies of pageable memory.
class PageableCopies {
public:
    PageableCopies(const Trace& trace, const Solution& solution, const HostActivity& host)
        : trace_(trace), host_(host), is_one_(find_pageable_copies(trace)),
          calls_(trace.threads.size()) {
        // Skips small copies, whose bytes take hardly any time. With pinned memory, the copies
        // would take as long, and the program would have to wait for their results as well.
        constexpr std::uint64_t least_bytes = 64 << 10;
        for (TraceIndex i = 0; i < trace.ops.size(); ++i)
            if (trace.ops[i].bytes != 0 && trace.ops[i].bytes < least_bytes) is_one_[i] = false;
        for (const Arrow& arrow : solution.arrows)
            if (arrow.wait == arrow.to && trace.ops[arrow.wait].kind == OpKind::blocked)
                waited_for_.emplace(arrow.from, Ran{});
        for (const Bar& bar : solution.bars)
            if (const auto found = waited_for_.find(bar.op);
                found != waited_for_.end() && bar.run == no_index)
                found->second = {bar.start, bar.end};
        for (TraceIndex i = 0; i < trace.ops.size(); ++i)
            if (is_one_[i]) calls_[trace.ops[i].thread].push_back(i);
        for (auto& calls : calls_)
            std::ranges::stable_sort(
                calls, {}, [&](TraceIndex copy) { return sane(trace_.ops[copy].call_begin); });
    }
    bool is_one(TraceIndex op) const { return is_one_[op]; }

    /// Calls use(copy, time) for each copy whose call overlaps a stretch of the thread. The time
    /// does not include waiting for earlier work within the call.
    template <class Use> void within(TraceIndex thread, Moment begin, Moment end, Use use) const {
        if (thread >= calls_.size()) return;
        const auto& calls = calls_[thread];
        auto call = std::ranges::lower_bound(
            calls, begin, {}, [&](TraceIndex copy) { return sane(trace_.ops[copy].call_begin); });
        if (call != calls.begin()) --call;  // the previous call may extend into the stretch
        for (; call != calls.end() && trace_.ops[*call].call_begin < end; ++call) {
            const TraceOp& op = trace_.ops[*call];
            if (!is_known(op.call_begin) || !is_known(op.call_end)) continue;
            Moment from = std::max(op.call_begin, begin), to = std::min(op.call_end, end);
            Moment waited = 0;
            if (const auto ran = waited_for_.find(*call); ran != waited_for_.end()) {
                from = std::max(from, ran->second.start);
                to = std::min(to, ran->second.end);
            } else {
                waited = host_.on(thread, from, to).waiting;
            }
            if (to - from > waited) use(*call, to - from - waited);
        }
    }

private:
    struct Ran {
        Moment start = 0, end = 0;
    };
    const Trace& trace_;
    const HostActivity& host_;
    /// By operation: whether it is a copy of pageable memory.
    std::vector<bool> is_one_;
    /// For each thread: the calls that made such copies, ordered by begin.
    std::vector<std::vector<TraceIndex>> calls_;
    /// The copies that blocked the host, and when.
    std::unordered_map<TraceIndex, Ran> waited_for_;
};

/// Finds when operations ended.
class Ends {
public:
    Ends(const Trace& trace, const Solution& solution) : ends_(trace.ops.size(), unknown_moment) {
        for (const Bar& bar : solution.bars)
            if (bar.run == no_index) ends_[bar.op] = bar.end;
    }
    Moment end_of(TraceIndex op) const { return op < ends_.size() ? ends_[op] : unknown_moment; }

private:
    std::vector<Moment> ends_;
};

class CauseFinder {
public:
    CauseFinder(const Trace& trace, const Solution& solution, const HostActivity& host)
        : trace_(trace), solution_(solution), host_(host), copies_(trace, solution, host),
          needless_(trace), runs_(trace.ops.size()), is_costly_(trace.ops.size()) {
        for (const Arrow& arrow : solution.arrows)
            if (arrow.wait == arrow.to && arrow.held_up)
                host_waits_.emplace(std::pair(trace.ops[arrow.wait].thread, arrow.from),
                                    arrow.wait);
    }

    std::vector<Cause> find() {
        for (const CriticalStep& step : solution_.critical) add(step);
        add_round_trips();
        add_enqueuing();
        add_stream_waits();
        add_lone_streams();
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
    /// A round trip. It begins at the end of the work that the host waited for. It ends at the
    /// start of the first work that the host launched after the wait.
    struct RoundTrip {
        TraceIndex wait = no_index;
        Moment time = 0;  ///< without the time of the program's own code
    };

    Places& places(Cause::Kind kind) { return places_[static_cast<std::size_t>(kind)]; }
    void add_to(Cause::Kind kind, TraceIndex op, Moment time) {
        places(kind).add(trace_, op, time);
    }

    void add(const CriticalStep& step) {
        const Moment length = step.end - step.begin;
        switch (step.kind) {
        case CriticalStep::Kind::runs:
            runs_[step.op] = &step;
            work_ += length;
            last_run_ = step.op;
            if (copies_.is_one(step.op)) add_to(Cause::Kind::pageable_copies, step.op, length);
            end_trip();
            break;
        case CriticalStep::Kind::waits:
            if (is_host_wait(trace_.ops[step.op])) trip_ = RoundTrip{step.op};
            if (trip_) trip_->time += length;
            else if (length < least_late) add_cost(step.op, length);
            break;
        case CriticalStep::Kind::host: add_host(step); break;
        }
    }

    /// Needed if the wait ended at the same moment as its target, because the path then has no step
    /// for the wait.
    void begin_trip(TraceIndex thread) {
        const auto wait = host_waits_.find({thread, last_run_});
        if (wait != host_waits_.end()) trip_ = RoundTrip{wait->second};
    }
    void end_trip() {
        if (trip_) trips_.push_back(*trip_);
        trip_.reset();
    }

    /// If a thread waits, launches and then enqueues more, the round trip ends with the launch.
    void add_host(const CriticalStep& step) {
        const TraceIndex thread = trace_.ops[step.op].thread;
        Moment begin = step.begin;
        if (!trip_) begin_trip(thread);
        if (trip_) {
            const TraceIndex first = host_.first_work(thread, step.begin);
            const bool goes_on = first != no_index && trace_.ops[first].call_end < step.end;
            const Moment end = goes_on ? trace_.ops[first].call_end : step.end;
            trip_->time += end - begin - host_.on(thread, begin, end).own;
            if (goes_on) end_trip();
            begin = end;
        }
        add_calls(thread, begin, step.end);
        copies_.within(thread, step.begin, step.end, [&](TraceIndex copy, Moment time) {
            add_to(Cause::Kind::pageable_copies, copy, time);
        });
    }

    /// Adds the calls of a stretch in which nothing held up the host. A round trip may also begin
    /// with a wait or query for work that was already complete.
    void add_calls(TraceIndex thread, Moment begin, Moment end) {
        own_ += host_.on(thread, begin, end).own;
        std::optional<RoundTrip> trip;
        host_.calls(thread, begin, end, [&](TraceIndex index, Moment time) {
            const TraceOp& op = trace_.ops[index];
            if (is_host_wait(op) || op.kind == OpKind::query) {
                trip = RoundTrip{index, time};
            } else if (trip) {
                trip->time += time;
                // The remainder of a call that waited is not new work.
                const bool is_rest = op.call_begin < trace_.ops[trip->wait].call_begin;
                if (!is_work(op) || is_rest) return;
                trips_.push_back(*trip);
                trip.reset();
            } else {
                add_cost(index, time);
            }
        });
    }

    /// Adds a part of the cost of enqueuing and starting an operation. If operations are small, the
    /// host and the device are about equally slow, and a graph or a batch speeds up both.
    void add_cost(TraceIndex op, Moment time) {
        costs_.add(trace_, op, time, is_costly_[op] ? 0 : 1);
        is_costly_[op] = true;
    }

    /// Adds the cost, unless half of it is for pageable copies: such copies take long even in few
    /// calls.
    void add_enqueuing() {
        const Moment copying = places(Cause::Kind::pageable_copies).time();
        const Moment time = costs_.time();
        const bool are_small = costs_.count() >= least_costly && time > work_ / 2;
        if (!are_small || time <= own_ || time / 2 <= copying) return;
        places(Cause::Kind::enqueuing) = costs_;
    }

    /// Adds the round trips. Other causes lengthen very long ones, so each counts at most four
    /// times the median. If there are at least `few_trips` round trips, and their 95th percentile
    /// is longer than that, each counts at most the percentile.
    void add_round_trips() {
        if (trips_.empty()) return;
        std::vector<Moment> times;
        for (const RoundTrip& trip : trips_) times.push_back(trip.time);
        std::ranges::sort(times);
        const Moment usual = times[times.size() / 2];
        const Moment most = std::max(
            4 * usual, times.size() < few_trips ? 0 : times[times.size() - 1 - times.size() / 20]);
        for (const RoundTrip& trip : trips_)
            add_to(Cause::Kind::host_waits, trip.wait, std::min(trip.time, most));
    }

    /// Adds waits that kept streams of the path idle. Groups them by place, waiting stream and
    /// other stream.
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
            const bool are_needless = seem_needless(gaps);
            for (std::size_t i = 0; i < gaps.size(); ++i) {
                if (!are_needless && i < 4 * most_asked && add_broad_wait(*gaps[i])) continue;
                add_stream_wait(*gaps[i], are_needless);
            }
        }
    }

    /// Returns whether nearly all waits at a place are needless. For a few waits, such as the last
    /// one, the result may be unknown.
    bool seem_needless(const std::vector<const Gap*>& gaps) {
        const std::size_t asked = std::min(gaps.size(), most_asked);
        std::size_t needless = 0;
        for (std::size_t i = 0; i < asked; ++i) {
            const NeedlessWaits::Conflict conflict = needless_.find_conflict(gaps[i]->wait);
            if (conflict.is_needed()) return false;
            needless += conflict.is_needless();
        }
        return needless > 0 && 4 * needless >= 3 * asked;
    }

    /// If waiting for an earlier event would suffice, adds the wait and returns true. Its cost is
    /// the time that the path spent on work that was not needed.
    bool add_broad_wait(const Gap& gap) {
        const TraceIndex needed = needless_.find_conflict(gap.wait).last;
        const CriticalStep& run = *runs_[gap.cause];
        const Moment end = ends_.end_of(needed);
        if (needed == no_index || needed == gap.cause || !is_known(end)) return false;
        const Moment time = std::min(gap.end, run.end) - std::max(gap.begin, end);
        if (time > 0) places(Cause::Kind::broad_waits).add(trace_, gap.wait, time, 1, needed);
        return time > 0;
    }

    /// Adds each stream that runs operations one after the other although they share no memory.
    void add_lone_streams() {
        for (const LoneStream& one : find_lone_streams(trace_, solution_))
            places(Cause::Kind::one_stream).add(trace_, one.op, one.time, one.operations);
    }

    /// Adds a wait. Its cost is the time in which the stream was idle while the path contained the
    /// awaited work.
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
    const Ends ends_{trace_, solution_};
    std::vector<const CriticalStep*> runs_;  ///< by operation: its step on the path, or null
    /// Host waits, by the waiting thread and the awaited operation.
    std::map<std::pair<TraceIndex, TraceIndex>, TraceIndex> host_waits_;
    TraceIndex last_run_ = no_index;
    std::optional<RoundTrip> trip_;
    std::vector<RoundTrip> trips_;
    /// The time on the path of the program's own code (without round trips), and of operations.
    Moment own_ = 0, work_ = 0;
    Places costs_;
    std::vector<bool> is_costly_;  ///< by operation: whether costs_ already counts it
    std::array<Places, static_cast<std::size_t>(Cause::Kind::count_)> places_;
};

/// Returns the waiting stream and the awaited stream, for example "main for up".
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
        return formatted("Fix first: the host waits between launches. {} waits, most at {}, and "
                         "the launches after them take {}. Enqueue more work before waiting.",
                         cause.count, place, share);
    case Cause::Kind::enqueuing:
        return formatted("Fix first: small operations, enqueued one by one. Enqueuing and starting "
                         "{} of them, most at {}, takes {}. {}",
                         cause.count, place, share, fewer_calls_text(trace, cause.op));
    case Cause::Kind::pageable_copies:
        return formatted("Fix first: copies of pageable memory, most at {}. They occupy the host "
                         "for {}. Use pinned memory: its copies run beside other work.",
                         place, share);
    case Cause::Kind::needless_waits:
        return formatted(
            "Fix first: waits that seem needless, most at {} ({}). They kept streams idle for {}, "
            "but these streams share no recorded memory with the awaited work.",
            place, streams_of(trace, op), share);
    case Cause::Kind::broad_waits:
        return formatted("Fix first: waits for more than is needed, most at {} ({}). Of the "
                         "awaited work, {} at {} is needed last, and the waits for later work take "
                         "{}. Wait for an event that is recorded directly after the needed work.",
                         place, streams_of(trace, op),
                         fit(name_text(trace, trace.ops[cause.needed]), 60),
                         place_text(trace, trace.ops[cause.needed]), share);
    case Cause::Kind::one_stream:
        return formatted("Fix first: independent work is on one stream, '{}'. Judging by the "
                         "memory that they use, its {} operations could take {} less: run "
                         "independent operations on other streams, for example with fork_join().",
                         fit(stream_text(trace, op.stream), 30), cause.count, share);
    case Cause::Kind::turns:
        return formatted(
            "Fix first: copies and kernels alternate. Their waits for each other, most at {} ({}), "
            "take {}. Use a second buffer, so that the next copy runs beside the kernel.",
            place, streams_of(trace, op), share);
    case Cause::Kind::count_: break;
    }
    return "";
}

}  // namespace heddle::detail
