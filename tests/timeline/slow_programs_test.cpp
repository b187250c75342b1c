// What the timeline's headline says of whole programs.
#include "timeline/slow_programs.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <heddle/timeline.hpp>

#include "support.hpp"

using namespace heddle_test;

namespace {

/// Runs a program, and returns the first sentences of its recording's summary as one line.
std::string headline_of(const SlowProgram& program) {
    const Drained drained;
    // By events, kernels that the host enqueues slowly seem to run back to back.
    timeline::Recording recording({.gpu_times = timeline::GpuTimes::cupti});
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

/// Returns how long the calling thread has had a core.
std::chrono::nanoseconds time_on_core() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// Returns whether other processes take cores away: then a program is slow for their sake. It asks
/// for so long that threads which have just begun are not favoured by the scheduler any more.
bool is_machine_busy() {
    constexpr std::chrono::milliseconds needed{50};
    std::atomic<bool> is_busy{false};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::clamp(std::thread::hardware_concurrency(), 1u, 8u); ++i)
        threads.emplace_back([&] {
            const auto begin = std::chrono::steady_clock::now();
            const auto end = time_on_core() + needed;
            while (time_on_core() < end) {}
            if (std::chrono::steady_clock::now() - begin > needed * 5 / 4) is_busy = true;
        });
    for (std::thread& one : threads) one.join();
    return is_busy;
}

}  // namespace

// Judged by times, so it runs alone: heddle_tests "[slow_programs]".
TEST_CASE("the headline of a program names why it is slow", "[.slow_programs]") {
    constexpr int most_tries = 8, most_wrong = 3;
    std::string wrong, unknown;
    for (const SlowProgram& program : slow_programs()) {
        const bool is_cpu = test_device().is_cpu();
        if (is_cpu ? cpu_workers() < program.workers : !program.is_for_gpus) continue;
        std::string headlines;
        bool is_named = false;
        int wrong_tries = 0;  // while the machine was free
        for (int i = 0; i < most_tries && !is_named && wrong_tries < most_wrong; ++i) {
            const bool was_busy = i != 0 && is_machine_busy();
            const std::string headline = headline_of(program);
            is_named = is_right(program, headline);
            if (!is_named && !was_busy && !is_machine_busy()) ++wrong_tries;
            headlines += "\n    " + headline;
        }
        if (is_named) continue;
        (wrong_tries == most_wrong ? wrong : unknown) += "\n" + program.name + ":" + headlines;
    }
    if (!unknown.empty()) WARN("other processes had the cores:" << unknown);
    INFO(wrong);
    CHECK(wrong.empty());
}
