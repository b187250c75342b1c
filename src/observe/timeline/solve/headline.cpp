#include "timeline/solve/headline.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "timeline/solve/fewer_calls.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::detail {

namespace {

std::string place_of(const Trace& trace, TraceIndex op) { return place_text(trace, trace.ops[op]); }

/// Describes a share of the path, for example "61 % (7.60 ms) of the longest chain of 12.4 ms".
std::string of_chain(const PathShares& path, Moment part) {
    return formatted("{} ({}) of the longest chain of {}", share_text(part, path.whole),
                     duration_text(part), duration_text(path.whole));
}

std::string work_text(const Trace& trace, const PathShares& path) {
    std::string text =
        "The work itself is the biggest reason: operations run for " + of_chain(path, path.work);
    if (path.operations.empty()) return text + ".";
    const WorkShare& most = path.operations.front();
    const TraceOp& op = trace.ops[most.op];
    return text + formatted(". The largest part is {} on {}: {}, {}.",
                            fit(name_text(trace, op), 60), fit(stream_text(trace, op.stream), 40),
                            duration_text(most.time), count_text(most.count, "run", "runs"));
}

/// Names where the program's own code took longest. Returns "" if no place stands out.
std::string code_text(const Trace& trace, const PathShares& path) {
    const CodeShare& code = path.slowest_code;
    if (code.time < path.host_own / 10) return "";
    std::string where;
    if (code.after != no_index && code.before != no_index)
        where =
            formatted("from {} to {}", place_of(trace, code.after), place_of(trace, code.before));
    else if (code.before != no_index) where = "before " + place_of(trace, code.before);
    else if (code.after != no_index) where = "after " + place_of(trace, code.after);
    else return "";
    if (code.time > path.host_own - path.host_own / 20) return ", " + where;
    return formatted(", {} of it {}", duration_text(code.time), where);
}

/// Returns how the host spent the time in which it was late.
std::string host_text(const Trace& trace, const PathShares& path) {
    if (path.host_own >= std::max(path.host_waiting, path.host_calling))
        return formatted(" Meanwhile the host ran the program's own code for {}{}.",
                         duration_text(path.host_own), code_text(trace, path));
    if (path.host_waiting >= path.host_calling)
        return formatted(
            " Meanwhile the host was waiting for {}: enqueue more work before waiting.",
            duration_text(path.host_waiting));
    return formatted(" Meanwhile the host was in calls for {}. {}",
                     duration_text(path.host_calling), fewer_calls_text(trace));
}

std::string loading_text(const Trace& trace, const PathShares& path, Moment time) {
    std::string text = "Loading code is the biggest reason: it took " + of_chain(path, time) + ".";
    if (path.loaded.empty()) return text;
    return text + formatted(" The first kernel that was loaded late is {} at {}: call "
                            "preload_all() to load kernels earlier.",
                            fit(name_text(trace, trace.ops[path.loaded.front()]), 60),
                            place_of(trace, path.loaded.front()));
}

/// Describes why the path is idle. Appends `more` if the host is the reason.
std::string idle_text(const Trace& trace, const PathShares& path, GapReason reason, Moment time,
                      const std::string& more) {
    const std::string share = of_chain(path, time);
    switch (reason) {
    case GapReason::launched_late:
        return "The host is the biggest reason: it enqueued too late for " + share + "." + more;
    case GapReason::loading_code: return loading_text(trace, path, time);
    case GapReason::queue_full:
        return "Blocked calls are the biggest reason: they took " + share +
               ". A stream's queue was full, or the call had to wait for the device.";
    case GapReason::waited:
        return "Waits for work outside the recording are the biggest reason: " + share + ".";
    case GapReason::device_busy:
        return "A full device is the biggest reason: for " + share +
               " other streams' work kept operations from starting.";
    case GapReason::no_worker:
        return "Too few workers are the biggest reason: for " + share + " all of them were busy.";
    case GapReason::launch_latency:
        if (path.late_workers >= time / 2)
            return "Workers that woke up late are the biggest reason: for " + share +
                   " an operation was ready, but no free worker had begun it. Other threads or "
                   "processes may have used the cores.";
        return "The latency of launches is the biggest reason: it takes " + share +
               ". Use larger kernels, or a graph, to make launches fewer or faster.";
    case GapReason::nothing_enqueued:
    case GapReason::after_last:
    case GapReason::count_: break;
    }
    return "The longest chain takes " + share + ".";
}

/// Names the main reason for the length of the path, and the next one. Leaves out the host's
/// activity if the summary already names a cause.
std::string reasons_text(const Trace& trace, const PathShares& path, bool has_cause) {
    const auto most = std::max_element(path.idle.begin(), path.idle.end());
    const auto reason = static_cast<GapReason>(most - path.idle.begin());
    const bool is_work = path.work >= *most;
    const std::string more = has_cause ? "" : host_text(trace, path);
    std::string text =
        is_work ? work_text(trace, path) : idle_text(trace, path, reason, *most, more);
    const Moment second = is_work ? *most : path.work;
    if (second < path.whole / 10) return text;
    text += formatted(" Next is {}: {} ({}).", is_work ? to_string(reason) : "the work itself",
                      share_text(second, path.whole), duration_text(second));
    return is_work && reason == GapReason::launched_late ? text + more : text;
}

}  // namespace

std::string headline(const Trace& trace, const Solution& solution, const PathShares& path,
                     const std::vector<Cause>& causes) {
    if (solution.bars.empty()) return "There is no operation whose time is known.";
    if (path.whole <= 0) return "No operation took any time.";
    const std::string reasons = reasons_text(trace, path, !causes.empty());
    if (causes.empty()) return reasons;
    return cause_text(trace, causes.front(), path.whole) + " " + reasons;
}

std::string headline(const Trace& trace, const Solution& solution) {
    const HostActivity host(trace);
    return headline(trace, solution, PathShares(trace, solution, host),
                    find_causes(trace, solution, host));
}

}  // namespace heddle::detail
