// What the timeline's headline says of whole programs.
#include "timeline/slow_programs.hpp"

#include <algorithm>
#include <sstream>

#include <heddle/timeline.hpp>

#include "support.hpp"

using namespace heddle_test;

namespace {

/// Runs a program, and returns the first sentences of its recording's summary as one line.
std::string headline_of(const SlowProgram& program) {
    const Drained drained;
    timeline::Recording recording;
    program.run();
    recording.stop();
    std::istringstream text(recording.summary());
    std::string words;
    for (std::string line; std::getline(text, line) && !line.empty();) {
        const std::size_t begin = line.find_first_not_of(' ');
        words += (words.empty() ? "" : " ") + line.substr(std::min(begin, line.size()));
    }
    return words;
}

bool is_right(const SlowProgram& program, const std::string& headline) {
    const auto says = [&](const std::string& part) {
        return headline.find(part) != std::string::npos;
    };
    return std::ranges::all_of(program.says, says) &&
           std::ranges::none_of(program.does_not_say, says);
}

}  // namespace

TEST_CASE("the headline of a program names why it is slow", "[slow_programs]") {
    // Other processes can make another program of it, by taking its cores away.
    constexpr int most_tries = 5;
    std::string wrong;
    for (const SlowProgram& program : slow_programs()) {
        const bool is_cpu = test_device().is_cpu();
        if (is_cpu ? cpu_workers() < program.workers : !program.is_for_gpus) continue;
        std::string headlines;
        bool is_named = false;
        for (int i = 0; i < most_tries && !is_named; ++i) {
            const std::string headline = headline_of(program);
            is_named = is_right(program, headline);
            headlines += "\n    " + headline;
        }
        if (!is_named) wrong += "\n" + program.name + ":" + headlines;
    }
    INFO(wrong);
    CHECK(wrong.empty());
}
