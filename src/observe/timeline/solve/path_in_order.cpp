#include <algorithm>
#include <numeric>

#include "core/base/format.hpp"
#include "timeline/solve/path_shares.hpp"
#include "timeline/solve/trace_parts.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::detail {

namespace {

constexpr std::size_t most_lines = 20;
/// The most lines in one round of a loop that is recognised.
constexpr std::size_t longest_round = 12;

/// One line of the text. It stands for an operation, or for several with the same name on one
/// stream.
struct Line {
    CriticalStep::Kind kind;
    TraceIndex op;  ///< the first operation
    Moment begin, end;
    std::uint64_t count = 1;
    Moment between = 0;  ///< the time between the operations, in which none of them ran
};

/// A single line, or lines that repeat because the program has a loop.
struct Part {
    std::size_t first = 0;  ///< index of the first line
    std::size_t lines = 1;  ///< number of lines in one round
    std::size_t rounds = 1;
    Moment begin = 0, end = 0;

    std::size_t shown_lines() const { return rounds == 1 ? 1 : lines + 1; }
};

bool is_same(const Trace& trace, TraceIndex a, TraceIndex b) {
    const TraceOp& one = trace.ops[a];
    const TraceOp& other = trace.ops[b];
    return one.stream == other.stream && one.kind == other.kind && one.name == other.name &&
           one.graph == other.graph;
}

/// Returns whether the step is the short latency between a launch and its device. Such a latency is
/// shown as part of the host's step.
bool is_short_latency(const Line& line, const CriticalStep& step) {
    return line.kind == CriticalStep::Kind::host && step.kind == CriticalStep::Kind::waits &&
           line.op == step.op && step.end - step.begin <= (line.end - line.begin) / 10;
}

/// Merges successive steps of the same work, including the steps between them.
std::vector<Line> lines_of(const Trace& trace, const Solution& solution) {
    std::vector<Line> lines;
    std::size_t after_work = 0;  // index after the last line of work; 0 if there is none
    for (const CriticalStep& step : solution.critical) {
        const bool runs = step.kind == CriticalStep::Kind::runs;
        if (!lines.empty() && is_short_latency(lines.back(), step)) {
            lines.back().end = step.end;
            continue;
        }
        if (runs && after_work != 0 && is_same(trace, lines[after_work - 1].op, step.op)) {
            lines.resize(after_work);
            Line& line = lines.back();
            line.between += step.begin - line.end;
            line.end = step.end;
            ++line.count;
            continue;
        }
        lines.push_back({step.kind, step.op, step.begin, step.end});
        if (runs) after_work = lines.size();
    }
    return lines;
}

/// Divides the lines into parts. Finds lines that repeat.
std::vector<Part> parts_of(const Trace& trace, const std::vector<Line>& lines) {
    const auto repeats = [&](std::size_t a, std::size_t b) {
        return lines[a].kind == lines[b].kind && is_same(trace, lines[a].op, lines[b].op);
    };
    /// Returns how many times in a row the `length` lines from `first` on occur.
    const auto rounds_of = [&](std::size_t first, std::size_t length) {
        std::size_t same = first + length;
        while (same < lines.size() && repeats(same, same - length)) ++same;
        return (same - first) / length;
    };
    std::vector<Part> parts;
    for (std::size_t first = 0; first < lines.size();) {
        Part part{.first = first};
        for (std::size_t length = 1; length <= longest_round; ++length)
            if (const std::size_t rounds = rounds_of(first, length);
                rounds > 1 && rounds * length > part.rounds * part.lines) {
                part.lines = length;
                part.rounds = rounds;
            }
        first += part.lines * part.rounds;
        part.begin = lines[part.first].begin;
        part.end = lines[first - 1].end;
        parts.push_back(part);
    }
    return parts;
}

std::string text_of(const Trace& trace, const Line& line) {
    const TraceOp& op = trace.ops[line.op];
    const std::string place = place_text(trace, op, 36);
    const std::string name = fit(name_text(trace, op), 30);
    const std::string stream = fit(stream_text(trace, op.stream), 14);
    if (line.kind == CriticalStep::Kind::host)
        return "the host, until it called " + name + ", " + place;
    if (line.kind == CriticalStep::Kind::waits && is_host_wait(op))
        return "the host woke up, " + place;
    if (line.kind == CriticalStep::Kind::waits) return "until " + name + " started on " + stream;
    std::string text = name + " on " + stream;
    if (line.count > 1) text += formatted(", {} times", line.count);
    if (line.between > 0) return text + ", " + duration_text(line.between) + " between them";
    return text + ", " + place;
}

/// Returns for each part whether it is shown. If not all parts fit, the longest parts are shown.
/// One line stands for each group of hidden parts.
std::vector<bool> find_shown(const std::vector<Part>& parts) {
    std::size_t lines = 0;
    for (const Part& part : parts) lines += part.shown_lines();
    std::vector<bool> is_shown(parts.size(), lines <= most_lines);
    if (lines <= most_lines) return is_shown;
    std::vector<std::size_t> longest(parts.size());
    std::iota(longest.begin(), longest.end(), std::size_t{0});
    std::stable_sort(longest.begin(), longest.end(), [&](std::size_t a, std::size_t b) {
        return parts[a].end - parts[a].begin > parts[b].end - parts[b].begin;
    });
    lines = 1;
    for (const std::size_t part : longest) {
        lines += parts[part].shown_lines() + 1;
        if (lines > most_lines) break;
        is_shown[part] = true;
    }
    return is_shown;
}

/// Writes the lines of the text.
class Writer {
public:
    Writer(const Trace& trace, const Solution& solution, const std::vector<Line>& lines)
        : trace_(trace), solution_(solution), lines_(lines) {}

    void show(const Part& part) {
        end_hidden();
        const std::string at = "at " + duration_text(part.begin - solution_.begin);
        if (part.rounds == 1) {
            add(at, part.end - part.begin, text_of(trace_, lines_[part.first]));
            return;
        }
        add(at, part.end - part.begin, formatted("{} rounds of", part.rounds));
        for (std::size_t i = 0; i < part.lines; ++i) {
            Moment time = 0;
            for (std::size_t round = 0; round < part.rounds; ++round) {
                const Line& line = lines_[part.first + round * part.lines + i];
                time += line.end - line.begin;
            }
            add("", time, "  " + text_of(trace_, lines_[part.first + i]));
        }
    }

    void hide(const Part& part) {
        hidden_ += part.lines * part.rounds;
        hidden_time_ += part.end - part.begin;
    }

    std::string take() {
        end_hidden();
        return std::move(text_);
    }

private:
    void add(const std::string& at, Moment time, const std::string& text) {
        text_ += fit(formatted("  {:>13} {:>9}  {}", at, duration_text(time), text), 100) + "\n";
    }

    void end_hidden() {
        if (hidden_ > 0)
            add("", hidden_time_, "... " + count_text(hidden_, "shorter step", "shorter steps"));
        hidden_ = 0;
        hidden_time_ = 0;
    }

    const Trace& trace_;
    const Solution& solution_;
    const std::vector<Line>& lines_;
    std::string text_;
    std::uint64_t hidden_ = 0;
    Moment hidden_time_ = 0;
};

}  // namespace

std::string path_in_order(const Trace& trace, const Solution& solution) {
    const std::vector<Line> lines = lines_of(trace, solution);
    const std::vector<Part> parts = parts_of(trace, lines);
    const std::vector<bool> is_shown = find_shown(parts);
    Writer writer(trace, solution, lines);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (is_shown[i]) writer.show(parts[i]);
        else writer.hide(parts[i]);
    }
    return writer.take();
}

}  // namespace heddle::detail
