// If a test hangs, prints its name and ends the program.
#define CATCH_CONFIG_EXTERNAL_INTERFACES  // needed for listeners in Catch2 2.13
#include "watchdog.hpp"

#include "core/stream/registry.hpp"
#include "cpu/executor/executor.hpp"
#include "support.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <execinfo.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#endif

namespace {

/// Returns the time limit of a test, in seconds.
unsigned limit_s() {
    const auto limit = heddle_test::patience(std::chrono::seconds(100));
    return static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(limit).count());
}

/// Returns whether each CPU stream that was destroyed has ended, and so has reported its failure.
bool have_ended() {
    bool all = true;
    heddle::detail::for_each_stream([&](heddle::detail::StreamRecord& stream) {
        if (!stream.device.is_cpu()) return;
        const std::lock_guard life(stream.life);
        if (stream.final_event != nullptr) all = false;
    });
    return all;
}

/// Waits until destroyed CPU streams have ended and workers have released completed work.
/// Otherwise, the next test would receive errors of that work.
void wait_for_earlier_work() {
    static bool is_stuck = false;  // true after a test has failed
    heddle::detail::cpu::Executor* const workers = heddle::detail::cpu::executor_if_made();
    if (!is_stuck)
        is_stuck = !heddle_test::eventually(
            [&] { return have_ended() && (workers == nullptr || workers->is_resting()); });
}

char running[512] = "";

std::atomic<int> stacks_printed{0};

extern "C" void print_stack(int) {
    void* frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
    ++stacks_printed;
}

extern "C" void say_and_abort(int) {
    for (const char* text : {"\nthis test hangs: ", static_cast<const char*>(running), "\n"})
        if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
    heddle_test::print_all_stacks();
    std::signal(SIGABRT, SIG_DFL);
    std::abort();
}

#if __has_include(<catch2/catch_all.hpp>)
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

class Watchdog final : public ListenerBase {
public:
    using ListenerBase::ListenerBase;
    void testCaseStarting(const Catch::TestCaseInfo& test) override {
        wait_for_earlier_work();
        std::strncpy(running, test.name.c_str(), sizeof running - 1);
        static void* one[1];
        // The first backtrace() loads a library, which a signal handler must not do.
        static const int loaded = backtrace(one, 1);
        (void)loaded;
        std::signal(SIGALRM, say_and_abort);
        alarm(limit_s());
    }
    void testCaseEnded(const Catch::TestCaseStats&) override { alarm(0); }
};

}  // namespace

CATCH_REGISTER_LISTENER(Watchdog)

void heddle_test::note_progress() { alarm(limit_s()); }

void heddle_test::print_all_stacks() {
    std::signal(SIGUSR2, print_stack);
    DIR* const tasks = opendir("/proc/self/task");
    if (tasks == nullptr) return;
    while (const dirent* const task = readdir(tasks)) {
        const int thread = std::atoi(task->d_name);
        if (thread == 0) continue;
        if (write(STDERR_FILENO, "thread:\n", 8) < 0) break;
        const int before = stacks_printed;
        syscall(SYS_tgkill, getpid(), thread, SIGUSR2);
        // Waits for the thread, so that threads print one after the other.
        for (int i = 0; i < 1000 && stacks_printed == before; ++i) usleep(1000);
    }
    closedir(tasks);
}
