// The main program of the suite. HEDDLE_TEST_DEVICE is the kind of device under test.
// HEDDLE_TEST_MIN_DEVICES is the number of devices needed (by default 1). If there are fewer,
// prints the reason and exits with the status that CTest counts as skipped.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "catch.hpp"

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#endif

#include <heddle/device/device.hpp>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <string>

namespace {

constexpr int exit_skipped = 77;

struct Skips {
    std::mutex mutex;
    std::map<std::string, int> tests_by_reason;
};

Skips& skips() {
    static Skips all;
    return all;
}

std::string environment(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

/// Returns why the requested devices cannot be tested here. Returns an empty string if they can.
std::string reason_to_skip() {
    if (environment("HEDDLE_TEST_DEVICE", "cpu") != "cuda") return "";
    const int needed = std::atoi(environment("HEDDLE_TEST_MIN_DEVICES", "1").c_str());
    const int found = static_cast<int>(heddle::device_count(heddle::DeviceKind::cuda));
    if (found >= needed) return "";
    if (found == 0)
        return std::string("no CUDA device: ") + std::string(heddle::cuda_unavailable_reason());
    return "needs " + std::to_string(needed) + " CUDA devices, and there is " +
           std::to_string(found);
}

}  // namespace

void heddle_test::note_skip(const std::string& reason) {
    const std::lock_guard lock(skips().mutex);
    ++skips().tests_by_reason[reason];
}

int main(int argc, char** argv) {
    // Shells ignore SIGQUIT for background jobs, and the watch does not handle ignored signals.
    (void)std::signal(SIGQUIT, SIG_DFL);

    Catch::Session session;
    const int wrong = session.applyCommandLine(argc, argv);
    if (wrong != 0) return wrong;

    // Suites for CPU devices may run at the same time. Each would allocate memory on the GPUs.
    if (environment("HEDDLE_TEST_DEVICE", "cpu") != "cuda") setenv("CUDA_VISIBLE_DEVICES", "", 1);
    const std::string reason = reason_to_skip();
    if (!reason.empty()) {
        std::cout << "skipped: every test: " << reason << std::endl;
        return exit_skipped;
    }

    const int failed = session.run();
    for (const auto& [why, tests] : skips().tests_by_reason)
        std::cout << "skipped: " << tests << (tests == 1 ? " test: " : " tests: ") << why << '\n';
    return failed == 0 ? 0 : 1;
}
