// The watch reports the cause of each hang within a second after the watch's limit, and not
// earlier.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iterator>
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

constexpr std::chrono::milliseconds limit{500}, margin{1000};

std::vector<HangingProgram> all_programs() {
    std::vector<HangingProgram> all;
    for (auto* const some : {hanging_work, hanging_order, hanging_recordings, hanging_together})
        std::ranges::move(some(), std::back_inserter(all));
    return all;
}

constexpr std::string_view limit_line = "the limit is near", over_line = "time is over";

/// The parsed output of a child.
struct Output {
    std::map<std::string, std::string> marks;
    bool hangs = false;     ///< whether all work was enqueued
    bool is_over = false;   ///< whether the time limit has passed
    bool is_early = false;  ///< whether a report preceded the limit
    std::string report;     ///< everything after the first line with "heddle: "
    Strings causes;         ///< lines of the report that begin with "cause: "

    explicit Output(const std::string& text) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
            if (line.starts_with("mark ")) {
                const std::size_t end = line.find('=');
                marks["{" + line.substr(5, end - 5) + "}"] = line.substr(end + 1);
            } else if (line == "hangs") {
                hangs = true;
            } else if (line == limit_line) {
                is_early = !report.empty();
            } else if (line == over_line) {
                is_over = true;
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
    /// Returns the first difference from the expected report. Returns "" if there is none.
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

/// A program that hangs, and runs until its time is over.
struct Running {
    HangingProgram program;
    Child child;
    explicit Running(HangingProgram wanted)
        : program(std::move(wanted)),
          child("child: a program that hangs",
                {"HEDDLE_TEST_PROGRAM=" + program.name, "HEDDLE_CPU_DEVICES=2",
                 "HEDDLE_WATCH=500ms", "CUDA_VISIBLE_DEVICES="}) {}
};

void check_told(Running& running) {
    const ChildResult result = running.child.wait();
    INFO(running.program.name << ":\n" << result.output);
    const Output seen(result.output);
    CHECK(seen.hangs);
    CHECK(seen.is_over);
    CHECK(!seen.is_early);
    CHECK(seen.wrong(running.program) == "");
}

/// Ends the process at the time when the report is due.
void end_later() {
    std::thread([] {
        virtual_time::sleep(limit - virtual_time::step);
        print_line(limit_line);
        virtual_time::sleep(margin);
        virtual_time::sleep(virtual_time::step);  // lets all other threads that wake then run first
        print_line(over_line);
        std::_Exit(0);
    }).detach();
}

}  // namespace

TEST_CASE("child: a program that hangs", "[.child]") {
    virtual_time::begin();
    end_later();
    const std::string name = std::getenv("HEDDLE_TEST_PROGRAM");
    for (const HangingProgram& program : all_programs())
        if (program.name == name) program.run();
    print_line("did not hang");
    std::_Exit(3);
}

TEST_CASE("a program that hangs is told why", "[.hangs]") {
    if (const std::string reason = virtual_time::reason_not(); !reason.empty()) HEDDLE_SKIP(reason);
    leave_limit_to_programs();
    constexpr std::size_t at_a_time = 4;
    std::deque<Running> running;
    for (HangingProgram& program : all_programs()) {
        running.emplace_back(std::move(program));
        if (running.size() < at_a_time) continue;
        check_told(running.front());
        running.pop_front();
    }
    for (Running& one : running) check_told(one);
}
