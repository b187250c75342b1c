// Each program that hangs is told why, within a second after the limit of its watch.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <list>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "child.hpp"
#include "watch/programs/programs.hpp"

using namespace heddle_test;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds limit{500}, patience{20'000},
    margin{1000 * (HEDDLE_TEST_SANITIZED != 0 ? 10 : 1)};

std::vector<HangingProgram> all_programs() {
    std::vector<HangingProgram> all;
    for (auto* const some : {hanging_work, hanging_order, hanging_recordings, hanging_together})
        std::ranges::move(some(), std::back_inserter(all));
    return all;
}

/// What a child has printed.
struct Output {
    std::map<std::string, std::string> marks;
    std::optional<Clock::time_point> hangs;
    std::string report;  ///< from the first line that begins with "heddle: "
    Strings causes;      ///< the report's lines that begin with "cause: "

    explicit Output(const std::string& text) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
            if (line.starts_with("mark ")) {
                const std::size_t end = line.find('=');
                marks["{" + line.substr(5, end - 5) + "}"] = line.substr(end + 1);
            } else if (line.starts_with("hangs at ")) {
                hangs.emplace(std::chrono::nanoseconds(std::stoll(line.substr(9))));
            } else if (!report.empty() || line.starts_with("heddle: ")) {
                report += line + "\n";
            }
            if (line.starts_with("cause: ")) causes.push_back(line);
        }
    }

    bool has_all(const std::string& text, const Strings& parts) const {
        return std::ranges::all_of(parts, [&](std::string part) {
            for (const auto& [mark, stands_for] : marks)
                if (const std::size_t at = part.find(mark); at != std::string::npos)
                    part.replace(at, mark.size(), stands_for);
            return text.find(part) != std::string::npos;
        });
    }
    bool names(const Strings& cause) const {
        return std::ranges::any_of(causes, [&](auto& line) { return has_all(line, cause); });
    }
    /// Returns what is missing or wrong; "" if it is what is expected.
    std::string wrong(const HangingProgram& program) const {
        for (const Strings& cause : program.causes)
            if (!names(cause)) return "the cause with " + cause.front() + " is not named";
        for (const std::string& part : program.says)
            if (!has_all(report, {part})) return "the report does not say " + part;
        for (const std::string& line : causes) {
            const auto has = [&](const Strings& parts) { return has_all(line, parts); };
            if (std::ranges::none_of(program.causes, has) &&
                std::ranges::none_of(program.other_causes, has))
                return "this is not the cause: " + line;
        }
        return "";
    }
};

/// A program that runs until it is told why it hangs, or should have been.
class Judged {
public:
    explicit Judged(const HangingProgram& program)
        : program_(program),
          child_("child: a program that hangs", {"HEDDLE_TEST_PROGRAM=" + program.name,
                                                 "HEDDLE_CPU_DEVICES=2", "HEDDLE_WATCH=500ms"}),
          end_(Clock::now() + patience) {}

    /// Reads what it has printed meanwhile. Returns whether no more has to be awaited.
    bool is_over() {
        const std::size_t before = child_.output().size();
        const bool is_open = child_.read(milliseconds(0));
        if (child_.output().size() != before) {
            const Output seen(child_.output());
            if (seen.hangs && !is_right_) end_ = *seen.hangs + limit + margin;
            constexpr milliseconds rest{100};  // for what else it says
            if (!std::exchange(is_right_, is_right_ || seen.wrong(program_).empty()) && is_right_)
                end_ = Clock::now() + rest;
        }
        return !is_open || Clock::now() > end_;
    }
    void check() const {
        const Output seen(child_.output());
        INFO(program_.name << ":\n" << child_.output());
        CHECK(seen.hangs);
        CHECK(seen.wrong(program_) == "");
        CHECK(is_right_);  // in time
    }

private:
    const HangingProgram& program_;
    Child child_;
    Clock::time_point end_;
    bool is_right_ = false;
};

}  // namespace

TEST_CASE("child: a program that hangs", "[.child]") {
    const std::string name = std::getenv("HEDDLE_TEST_PROGRAM");
    for (const HangingProgram& program : all_programs())
        if (program.name == name) program.run();
    print_ended();
}

TEST_CASE("a program that hangs is told why", "[.hangs]") {
    constexpr std::size_t at_a_time = 6;  // they sleep most of the time
    const std::vector<HangingProgram> programs = all_programs();
    auto next = programs.begin();
    for (std::list<Judged> running; next != programs.end() || !running.empty();) {
        while (running.size() < at_a_time && next != programs.end()) running.emplace_back(*next++);
        std::erase_if(running, [](Judged& one) {
            const bool is_over = one.is_over();
            if (is_over) one.check();
            return is_over;
        });
        std::this_thread::sleep_for(milliseconds(5));
    }
}
