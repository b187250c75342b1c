// Random programs whose work fails. random_programs_test.cpp describes the environment variables.
#include "random_programs/environment.hpp"
#include "random_programs/model.hpp"
#include "random_programs/reporting.hpp"
#include "random_programs/runner.hpp"
#include "random_programs/shrink.hpp"
#include "random_programs/watch.hpp"
#include "support.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

namespace heddle_test::programs {

namespace {

std::vector<Device> devices_for(std::uint64_t seed) {
    std::vector<Device> devices = test_devices();
    while (devices.size() > 1 + seed % 3) devices.pop_back();
    return devices;
}
std::string title(std::uint64_t seed, Mode mode) {
    return "seed " + std::to_string(seed) + ", mode " + to_string(mode);
}

/// Hides the reports about destroyed streams' failures.
struct Quiet {
    ReportHook before = set_report_hook([](const Error&) {});
    ~Quiet() { set_report_hook(before); }
};

}  // namespace

TEST_CASE("random programs that fail poison the streams that they say, and no array gives old data",
          "[random]") {
    if (!is_mode_wanted("fails")) return;
    const Quiet quiet;
    // If no other mode runs, this test has all the time.
    const double part = environment("HEDDLE_RANDOM_MODES") == "fails" ? 1 : 0.2;
    const auto end = Time::now() + std::chrono::duration<double>(seconds() * part);
    std::size_t runs = 0, failed = 0, gave = 0, threw = 0, unsure = 0;
    for (std::uint64_t seed = first_seed(); runs == 0 || Time::now() < end; seed = next(seed, 1)) {
        const Program program = generate(seed, devices_for(seed), {.failures = true});
        for (const Mode mode : {Mode::eager, Mode::named, Mode::batch}) {
            if (const auto race = Model::check(program, mode))
                FAIL("the generator is wrong: " << race->first << " and " << race->second << "\n"
                                                << title(seed, mode) << "\n"
                                                << text_of(program));
            require_success(
                title(seed, mode), program, [&](const Program& one) { return failure(one, mode); },
                [&](const Program& one, const auto& fails) { return shrunken(one, mode, fails); });
            const Outcome outcome = expected(program, mode);
            if (std::ranges::find(outcome.failed, true) != outcome.failed.end() &&
                std::ranges::find(outcome.failed, false) != outcome.failed.end())
                ++failed;
            for (const Answer& answer : outcome.answers)
                ++(!answer.may_throw ? gave : !answer.may_give ? threw : unsure);
            ++runs;
        }
    }
    say_runs(runs);
    if (!environment("HEDDLE_RANDOM_SECONDS").empty())
        std::cout << "in " << failed << " of them some streams and not all failed; arrays gave "
                  << gave << " times elements, " << threw << " times failures, and " << unsure
                  << " times either" << std::endl;
}

}  // namespace heddle_test::programs
