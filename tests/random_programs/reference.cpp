#include "reference.hpp"

#include <algorithm>
#include <span>

namespace heddle_test::programs {

std::vector<int> first_values(const Program& p, int buffer) {
    const BufferInfo& info = p.buffers[static_cast<std::size_t>(buffer)];
    std::vector<int> values(info.size);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<int>(i * 7 + static_cast<std::size_t>(buffer) * 1001 + 1);
    return values;
}

std::vector<int> uploaded(const Program& p, const Statement& s) {
    std::vector<int> values(p.buffers[static_cast<std::size_t>(s.to)].size);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<int>(static_cast<Word>(i) * 13 + s.b);
    return values;
}

std::size_t extent(const Program& p, const Statement& s, int round) {
    const auto size = [&](int buffer) { return p.buffers[static_cast<std::size_t>(buffer)].size; };
    std::size_t n = size(s.to);
    if (s.from >= 0) n = std::min(n, size(s.from));
    const std::size_t less =
        static_cast<std::size_t>(s.varies % 5) * static_cast<std::size_t>(round);
    return n > less + 4 ? n - less : n;
}

namespace {

/// Does the work of an algorithm. `from` is a copy of the input.
void run_algorithm(AlgorithmKind kind, Word b, std::span<const int> from, std::span<int> to) {
    if (kind == AlgorithmKind::sort) return std::sort(to.begin(), to.end());
    Word sum = kind == AlgorithmKind::inclusive_scan ? 0 : b;
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (kind == AlgorithmKind::exclusive_scan) to[i] = static_cast<int>(sum);
        sum += static_cast<Word>(from[i]);
        if (kind == AlgorithmKind::inclusive_scan) to[i] = static_cast<int>(sum);
    }
    if (kind == AlgorithmKind::reduce) to[0] = static_cast<int>(sum);
}

}  // namespace

void do_work(const Program& p, const Statement& s, int round, Outcome& out) {
    const auto at = [&](int buffer) -> std::vector<int>& {
        return out.buffers[static_cast<std::size_t>(buffer)];
    };
    const std::size_t n = extent(p, s, round);
    const Word b = added(s, round);
    std::vector<int>& to = at(s.to);
    const auto from = [&](std::size_t i) { return static_cast<Word>(at(s.from)[i]); };
    if (s.algorithm) {
        const std::vector<int> read = at(s.from < 0 ? s.to : s.from);
        return run_algorithm(which_algorithm(s), b, std::span(read).first(n),
                             std::span(to).first(n));
    }
    for (std::size_t i = 0; i < n; ++i) {
        switch (s.what) {
        case What::fill: to[i] = static_cast<int>(b); break;
        case What::copy:
        case What::copy_across:
        case What::copy_here: to[i] = at(s.from)[i]; break;
        case What::copy_2d:
            if (i % 4 < 2 && i / 4 < n / 4) to[i] = at(s.from)[i];
            break;
        default: to[i] = scaled(to[i], s.a, b + (s.from >= 0 ? from(i) : 0));
        }
    }
}

namespace {

class Interpreter {
public:
    Interpreter(const Program& p, Mode mode) : program_(p), mode_(mode) {
        for (std::size_t i = 0; i < p.buffers.size(); ++i)
            out_.buffers.push_back(first_values(p, static_cast<int>(i)));
    }

    Outcome run() {
        for (const Segment& segment : program_.segments) {
            for (int round = 0; round < segment.rounds; ++round)
                block(segment.body, round_of(mode_, round));
            block(segment.after, 0);
        }
        return std::move(out_);
    }

private:
    std::vector<int>& at(int buffer) { return out_.buffers[static_cast<std::size_t>(buffer)]; }

    void block(const Statements& block, int round) {
        for (const Statement& s : block)
            if (!is_left_out(s, mode_, round)) statement(s, round);
    }

    void work(const Statement& s, int round) { do_work(program_, s, round, out_); }

    void statement(const Statement& s, int round) {
        if (s.what == What::fail) return;
        if (is_work(s.what)) return work(s, round);
        switch (s.what) {
        case What::copy_across:
        case What::copy_here: work(s, round); break;
        case What::scope:
        case What::fork:
        case What::temporary:
        case What::thread:
            for (const Statements& body : s.bodies) block(body, round);
            break;
        case What::local:
        case What::make_anew:
            at(s.to).assign(at(s.to).size(), static_cast<int>(s.b));
            for (const Statements& body : s.bodies) block(body, round);
            break;
        case What::condition:
            at(s.to)[0] = static_cast<int>(static_cast<Word>(at(s.from)[0]) % 2);
            block(s.bodies[at(s.to)[0] != 0 ? 0 : 1], round);
            break;
        case What::loop:
            for (at(s.to)[0] = static_cast<int>(static_cast<Word>(at(s.from)[0]) % 4);
                 at(s.to)[0] != 0; --at(s.to)[0])
                block(s.bodies[0], round);
            break;
        case What::captured:
            block(s.bodies[1], round);
            if (s.from >= 0 && !captures(mode_)) out_.seen.push_back(at(s.from));
            block(s.bodies[0], round);
            break;
        case What::graph: block(program_.graphs[static_cast<std::size_t>(s.event)].body, 0); break;
        case What::look:
        case What::download: out_.seen.push_back(at(s.from)); break;
        case What::upload: at(s.to) = uploaded(program_, s); break;
        default: break;
        }
    }

    const Program& program_;
    Mode mode_;
    Outcome out_;
};

std::string difference_of(const std::vector<int>& expected, const std::vector<int>& actual) {
    if (expected.size() != actual.size())
        return std::to_string(actual.size()) + " elements instead of " +
               std::to_string(expected.size());
    std::string first;
    std::size_t others = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (expected[i] == actual[i]) continue;
        if (!first.empty()) ++others;
        else
            first = "[" + std::to_string(i) + "] is " + std::to_string(actual[i]) + ", not " +
                    std::to_string(expected[i]);
    }
    return others == 0 ? first : first + ", and " + std::to_string(others) + " more";
}

std::string difference_of(const Answer& expected, const Answer& actual) {
    if (actual.may_throw)
        return expected.may_throw ? "" : "should give elements, and throws: " + actual.thrown;
    if (!expected.may_give) return "gives elements, and should throw";
    return expected.is_known ? difference_of(expected.elements, actual.elements) : "";
}

}  // namespace

Outcome expected(const Program& p, Mode mode) {
    return p.fails ? expected_with_failures(p, mode) : Interpreter(p, mode).run();
}

std::string difference(const Program& p, const Outcome& expected, const Outcome& actual) {
    std::string all;
    const auto add = [&](const std::string& of, const std::string& what) {
        if (!what.empty()) all += (all.empty() ? "" : "; ") + of + what;
    };
    for (std::size_t i = 0; i < expected.seen.size(); ++i) {
        if (i >= actual.seen.size()) return "fewer arrays were looked at";
        add("what was looked at, number " + std::to_string(i) + ": ",
            difference_of(expected.seen[i], actual.seen[i]));
    }
    for (std::size_t i = 0; i < std::min(expected.answers.size(), actual.answers.size()); ++i)
        add("statement " + std::to_string(expected.answers[i].statement) + ": ",
            difference_of(expected.answers[i], actual.answers[i]));
    if (expected.is_unsure) return all;
    if (expected.answers.size() != actual.answers.size())
        return std::to_string(actual.answers.size()) + " answers";
    for (std::size_t i = 0; i < expected.buffers.size(); ++i) {
        if (p.buffers[i].local || (!expected.unknown.empty() && expected.unknown[i])) continue;
        add("x" + std::to_string(i), difference_of(expected.buffers[i], actual.buffers[i]));
    }
    for (std::size_t i = 0; i < expected.failed.size(); ++i)
        if (expected.failed[i] != actual.failed.at(i))
            add("s" + std::to_string(i), actual.failed[i] ? " is poisoned" : " is not poisoned");
    return all;
}

}  // namespace heddle_test::programs
