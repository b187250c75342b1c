// Makes the text of `heddle timeline --summary`.
#include <algorithm>

#include "core/base/format.hpp"
#include "timeline/solve/headline.hpp"
#include "timeline/solve/longest_waits.hpp"
#include "timeline/solve/path_shares.hpp"
#include "timeline/solve/trace_parts.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::detail {

namespace {

constexpr std::size_t columns = 100;
constexpr std::size_t most_waits = 10, most_shares = 8;

std::string device_text(const Trace& trace, TraceIndex device) {
    return device < trace.devices.size() ? device_text(trace.devices[device]) : "?";
}

/// Wraps the text into lines, and indents all lines but the first.
std::string wrapped(const std::string& text, std::size_t indent) {
    std::string lines;
    std::size_t used = 0, begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        const std::string word = text.substr(begin, end - begin);
        if (used > indent && used + 1 + columns_of(word) > columns) {
            lines += "\n" + std::string(indent, ' ');
            used = indent;
        } else if (begin > 0) {
            lines += " ";
            ++used;
        }
        lines += word;
        used += columns_of(word);
        begin = end + 1;
    }
    return lines + "\n";
}

/// Cuts off each line at the last column.
std::string fit_lines(const std::string& text) {
    std::string lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines += fit(std::string_view(text).substr(begin, end - begin), columns) + "\n";
        begin = end + 1;
    }
    return lines;
}

std::string recording_text(const Trace& trace, const Solution& solution) {
    std::uint64_t operations = 0, streams = 0;
    for (const RowTotals& row : solution.rows) {
        operations += row.operations;
        streams += row.operations > 0;
    }
    std::string text = "Recorded";
    if (!trace.program.empty()) text += " " + fit_end(trace.program, 60);
    text += formatted(
        ": {}, {} that ran on {}, called by {}.", duration_text(solution.end - solution.begin),
        count_text(operations, "operation", "operations"), count_text(streams, "stream", "streams"),
        count_text(trace.threads.size(), "thread", "threads"));
    return wrapped(text, 0);
}

std::string shares_text(const Trace& trace, const PathShares& path) {
    struct Share {
        Moment time;
        std::string text;
    };
    std::vector<Share> shares;
    for (const WorkShare& share : path.operations) {
        const TraceOp& op = trace.ops[share.op];
        std::string text =
            fit(name_text(trace, op), 44) + " on " + fit(stream_text(trace, op.stream), 20);
        if (share.count > 1) text += formatted(", {} times", share.count);
        shares.push_back({share.time, std::move(text)});
    }
    for (std::size_t reason = 0; reason < path.idle.size(); ++reason)
        shares.push_back({path.idle[reason], to_string(static_cast<GapReason>(reason))});
    std::stable_sort(shares.begin(), shares.end(),
                     [](const Share& a, const Share& b) { return a.time > b.time; });
    std::string text;
    Moment rest = path.whole;
    for (std::size_t i = 0; i < shares.size() && i < most_shares && shares[i].time > 0; ++i) {
        rest -= shares[i].time;
        text += formatted("  {:>8}  {:>6}  {}\n", duration_text(shares[i].time),
                          share_text(shares[i].time, path.whole), shares[i].text);
    }
    if (rest > 0)
        text += formatted("  {:>8}  {:>6}  the rest\n", duration_text(rest),
                          share_text(rest, path.whole));
    return text;
}

std::string row_text(const Trace& trace, const Solution& solution, const RowTotals& row) {
    const Moment whole = solution.end - solution.begin;
    const TraceIndex device = device_of(trace, row.stream);
    if (row.busy == 0 && has_no_clock(trace, row.stream))
        return wrapped(formatted("  {} {}: {}, times not measured.", device_text(trace, device),
                                 fit(stream_text(trace, row.stream), 40),
                                 count_text(row.operations, "operation", "operations")),
                       6);
    std::string text =
        formatted("  {} {}: {}, busy {} ({}), idle {}", device_text(trace, device),
                  fit(stream_text(trace, row.stream), 40),
                  count_text(row.operations, "operation", "operations"), duration_text(row.busy),
                  share_text(row.busy, whole), duration_text(whole - row.busy));
    std::vector<std::pair<Moment, std::size_t>> reasons;
    for (std::size_t i = 0; i < row.idle.size(); ++i)
        if (row.idle[i] > 0) reasons.emplace_back(row.idle[i], i);
    std::sort(reasons.rbegin(), reasons.rend());
    const char* before = ": ";
    for (const auto& [time, reason] : reasons) {
        text += formatted("{}{} {} ({})", before, to_string(static_cast<GapReason>(reason)),
                          duration_text(time), share_text(time, whole));
        before = ", ";
    }
    if (device != no_index && trace.devices[device].clock == TraceClock::none)
        text += ". Its times were not measured";
    return wrapped(text + ".", 6);
}

std::string rows_text(const Trace& trace, const Solution& solution) {
    std::string text;
    std::uint64_t unused = 0;
    for (const RowTotals& row : solution.rows) {
        if (row.operations > 0) text += row_text(trace, solution, row);
        else ++unused;
    }
    if (unused > 0)
        text += formatted("  {} had no operation.\n", count_text(unused, "stream", "streams"));
    return text;
}

/// Counts operations without times, by reason.
struct Missing {
    std::uint64_t pending = 0;  ///< operations that had not run when the recording ended
    std::uint64_t unkept = 0;   ///< operations that ran, but whose times were over the limit
    std::uint64_t dropped = 0;  ///< operations that were dropped because their streams had failed
    std::uint64_t failed = 0;
    TraceIndex failure = no_index;  ///< the first operation that failed
};

Missing missing_of(const Trace& trace, const Solution& solution) {
    // A stream runs its operations in order. So all operations before an operation that ran have
    // run, too.
    std::vector<std::uint64_t> ran_to(trace.streams.size());
    std::vector<bool> has_run(trace.ops.size());
    for (const Bar& bar : solution.bars) {
        has_run[bar.op] = true;
        ran_to[bar.stream] = std::max(ran_to[bar.stream], trace.ops[bar.op].position);
    }
    Missing missing;
    for (TraceIndex i = 0; i < trace.ops.size(); ++i) {
        const TraceOp& op = trace.ops[i];
        if (op.result == RunResult::failed && missing.failed++ == 0) missing.failure = i;
        if (op.kind == OpKind::dropped || op.result == RunResult::dropped) ++missing.dropped;
        else if (op.stream < trace.streams.size() && is_work(op) && !has_run[i] &&
                 op.result == RunResult::succeeded && !has_no_clock(trace, op.stream))
            ++(op.position < ran_to[op.stream] ? missing.unkept : missing.pending);
    }
    return missing;
}

/// Returns a sentence for each reason why some operations have no times.
std::string missing_text(const Trace& trace, const Solution& solution) {
    const Missing missing = missing_of(trace, solution);
    std::string text;
    if (missing.pending > 0)
        text += wrapped(formatted("  {} not run when the recording ended: synchronize before.",
                                  count_text(missing.pending, "operation had", "operations had")),
                        2);
    if (missing.unkept > 0)
        text += wrapped(formatted("  {} not kept: there was no room for more.",
                                  count_text(missing.unkept, "operation ran, and its times were",
                                             "operations ran, and their times were")),
                        2);
    if (missing.failed > 0) {
        const TraceOp& op = trace.ops[missing.failure];
        const std::string what =
            formatted("{} on {} ({})", fit(name_text(trace, op), 60),
                      fit(stream_text(trace, op.stream), 30), place_text(trace, op));
        text += wrapped(missing.failed == 1
                            ? "  An operation failed: " + what + "."
                            : formatted("  {} operations failed, first {}.", missing.failed, what),
                        2);
    }
    if (missing.dropped > 0)
        text += formatted("  {} dropped: their streams had failed.\n",
                          count_text(missing.dropped, "operation was", "operations were"));
    return text;
}

std::string quality_text(const Trace& trace, const Solution& solution) {
    std::string text;
    for (std::size_t i = 0; i < trace.devices.size(); ++i) {
        const TraceDevice& device = trace.devices[i];
        std::string line = formatted("  {}: {}", device_text(device), clock_text(device.clock));
        if (device.clock != TraceClock::none && device.clock_error > 0)
            line += ", within " + duration_text(device.clock_error) + " of the host's clock";
        text += line + ".\n";
    }
    const auto backward = static_cast<std::uint64_t>(
        std::count_if(solution.arrows.begin(), solution.arrows.end(),
                      [](const Arrow& arrow) { return arrow.is_backwards; }));
    if (solution.backward_arrows > 0)
        text += formatted("  {} backwards in time by less than that.\n",
                          count_text(solution.backward_arrows, "wait goes", "waits go"));
    if (backward > solution.backward_arrows)
        text += wrapped(
            formatted("  {} backwards in time by more than that: times near it are wrong.",
                      count_text(backward - solution.backward_arrows, "wait goes", "waits go")),
            2);
    text += missing_text(trace, solution);
    if (trace.lost_ops > 0)
        text += wrapped(formatted("  The oldest {} not kept: there was no room for more.",
                                  count_text(trace.lost_ops, "operation was", "operations were")),
                        2);
    for (const std::string& note : trace.notes) text += wrapped("  " + note, 2);
    return text;
}

void add_part(std::string& text, const std::string& title, const std::string& part) {
    if (!part.empty()) text += "\n" + title + "\n" + part;
}

}  // namespace

std::string summary_of(const Trace& trace, const Solution& solution) {
    const HostActivity host(trace);
    const PathShares path(trace, solution, host);
    const std::string whole = duration_text(path.whole);
    const std::vector<Cause> causes = find_causes(trace, solution, host);
    std::string text = wrapped(headline(trace, solution, path, causes), 0) + "\n";
    text += recording_text(trace, solution);
    if (path.whole > 0) {
        add_part(text, "The longest chain of dependent steps, " + whole + ":",
                 shares_text(trace, path));
        add_part(text, "The same chain in order of time:", path_in_order(trace, solution));
    }
    add_part(text, "Streams:", rows_text(trace, solution));
    add_part(text, "The longest waits:",
             text_of_waits(trace, longest_waits(trace, solution, most_waits)));
    add_part(text, "How exact this is:", quality_text(trace, solution));
    return fit_lines(text);
}

}  // namespace heddle::detail
