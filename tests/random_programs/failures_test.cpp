// Random programs whose work fails, and random programs that are observed in all ways in turn.
// random_programs_test.cpp describes the environment variables.
#include <heddle/observe/check.hpp>
#include <heddle/observe/timeline.hpp>

#include "random_programs/environment.hpp"
#include "random_programs/model.hpp"
#include "random_programs/reporting.hpp"
#include "random_programs/runner.hpp"
#include "random_programs/shrink.hpp"
#include "random_programs/watch.hpp"
#include "support.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle_test::programs {

namespace {

std::vector<Device> devices_for(std::uint64_t seed) {
    std::vector<Device> devices = test_devices();
    devices.resize(std::min<std::size_t>(devices.size(), 1 + seed % 3));
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

/// Counts the notifications about operations.
class Counter final : public Observer {
public:
    Counter() { add_observer(*this, {.times = true, .host_functions = true}); }
    ~Counter() { remove_observer(*this); }
    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;
    void on_op(const OpInfo& op) noexcept override { told_ += op.recording != 0 ? 2u : 1u; }
    void on_run(const OpRun&) noexcept override { ++told_; }

private:
    std::atomic<std::size_t> told_{0};
};

/// Observes the program in one of several ways. The seed selects the way.
class Observed {
public:
    explicit Observed(std::uint64_t seed) : is_checked_(seed % 2 == 1) {
        if (seed % 4 == 0 || seed % 4 == 3) counter_.emplace();
        if (is_checked_) check::start({.strict = true});
        if (seed % 4 >= 2) recording_.emplace();
    }
    ~Observed() {
        if (is_checked_) (void)check::stop();
    }
    Observed(const Observed&) = delete;
    Observed& operator=(const Observed&) = delete;

    /// Returns the checker's report, or an empty string.
    std::string end() {
        if (!std::exchange(is_checked_, false)) return "";
        const check::Summary found = check::stop();
        return found.certain + found.faults == 0 ? "" : "the checker found a race";
    }

private:
    std::optional<Counter> counter_;
    std::optional<timeline::Recording> recording_;
    bool is_checked_;
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

TEST_CASE("random programs that are observed, checked and recorded come to what they say",
          "[random]") {
    const auto end = Time::now() + std::chrono::duration<double>(seconds() * 0.15);
    std::size_t runs = 0;
    for (std::uint64_t seed = first_seed(); runs == 0 || Time::now() < end; ++seed) {
        const Program program = generate(seed, devices_for(seed));
        for (const Mode mode : {Mode::batch, Mode::eager, Mode::capture}) {
            REQUIRE_FALSE(Model::check(program, mode));
            const RunOptions options{.pests = static_cast<int>(seed / 4 % 3)};
            const Watch watch(title(seed, mode) + ", observed", [&] { return text_of(program); });
            Observed observed(seed);
            std::string why = failure(program, mode, options);
            if (options.pests == 0 && why.empty()) why = observed.end();
            if (!why.empty())
                FAIL(title(seed, mode) + ", observed: " + why + "\n" + text_of(program));
            ++runs;
        }
    }
    if (!environment("HEDDLE_RANDOM_SECONDS").empty())
        std::cout << runs << " runs of observed programs" << std::endl;
}

}  // namespace heddle_test::programs
