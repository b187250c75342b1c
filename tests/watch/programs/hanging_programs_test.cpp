// Each program that hangs is told why, within a second after the limit of its watch.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

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

}  // namespace

TEST_CASE("child: a program that hangs", "[.child]") {
    const std::string name = std::getenv("HEDDLE_TEST_PROGRAM");
    for (const HangingProgram& program : all_programs())
        if (program.name == name) program.run();
    print_ended();
}

TEST_CASE("a program that hangs is told why", "[.hangs]") {
    const std::vector<HangingProgram> programs = all_programs();
    for (const HangingProgram& program : programs) {
        DYNAMIC_SECTION(program.name) {
            Child child("child: a program that hangs",
                        {"HEDDLE_TEST_PROGRAM=" + program.name, "HEDDLE_CPU_DEVICES=2",
                         "HEDDLE_WATCH=500ms"});
            Output seen("");
            Clock::time_point end = Clock::now() + patience;
            do {
                seen = Output(child.output());
                if (seen.hangs) end = *seen.hangs + limit + margin;
            } while (!seen.wrong(program).empty() && Clock::now() < end &&
                     child.read(milliseconds(20)));
            // What else it says.
            while (Clock::now() < end && child.read(milliseconds(100))) {}
            seen = Output(child.output());
            INFO(child.output());
            CHECK(seen.hangs);
            CHECK(seen.wrong(program) == "");
        }
    }
}
