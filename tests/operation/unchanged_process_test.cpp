// Observers change a process only as documented: signal handlers, threads, files, and the times at
// which calls return. docs/guide/14-observing.md has the table of their effects.
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <heddle/observe/check.hpp>
#include <heddle/observe/timeline.hpp>
#include <heddle/observe/watch.hpp>

#include "core/base/clock.hpp"
#include "core/base/thread_sanitizer.hpp"
#include "kernels.hpp"
#include "operation/unchanged.hpp"
#include "watch/held.hpp"

using namespace heddle_test;

// Signal handlers --------------------------------------------------------------------------------

namespace {

using Handler = void (*)(int);

/// Returns the handler and the flags of each signal.
std::map<int, std::pair<Handler, int>> handlers() {
    std::map<int, std::pair<Handler, int>> all;
    for (int signal = 1; signal <= SIGRTMAX; ++signal) {
        struct sigaction now {};
        if (sigaction(signal, nullptr, &now) == 0) all[signal] = {now.sa_handler, now.sa_flags};
    }
    return all;
}

/// Returns the signals that the calling thread blocks.
std::set<int> blocked() {
    sigset_t mask;
    (void)pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    std::set<int> all;
    for (int signal = 1; signal <= SIGRTMAX; ++signal)
        if (sigismember(&mask, signal) == 1) all.insert(signal);
    return all;
}

std::string name_of(int signal) {
    return signal >= SIGRTMIN ? "real-time signal" : "signal " + std::to_string(signal);
}

std::array<std::atomic<int>, 128> handled;

extern "C" void count_signal(int signal) { ++handled[static_cast<std::size_t>(signal)]; }

/// Returns the signals that observers handle, and some that they do not.
std::vector<int> raised_signals() {
    std::vector<int> all{SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGTERM, SIGUSR1};
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) all.push_back(signal);
    return all;
}
void set_handlers(Handler handler) {
    for (const int signal : raised_signals()) (void)std::signal(signal, handler);
}
void raise_all() {
    for (int i = 0; i < 2; ++i)
        for (const int signal : raised_signals()) {
            (void)std::raise(signal);
            work_a_little();
        }
    for (const int signal : raised_signals())
        std::printf("= signal %d handled %d times\n", signal,
                    handled[static_cast<std::size_t>(signal)].load());
}

}  // namespace

TEST_CASE("child: handlers of signals", "[.child]") {
    for (const int signal : {SIGINT, SIGTERM, SIGQUIT})
        (void)std::signal(signal,
                          SIG_DFL);  // Catch2 handles some; shells ignore some in the background
    const auto before = handlers();
    const std::set<int> blocked_before = blocked();
    work_a_little();
    for (const auto& [signal, handler] : handlers())
        if (handler != before.at(signal)) std::printf("+ %s\n", name_of(signal).c_str());
    std::printf("= blocks the same: %d\n", static_cast<int>(blocked() == blocked_before));
}

TEST_CASE("unchanged: signal handlers") {
    const Observers observers;
    const auto changed = [&](const Strings& with) {
        const ChildResult child = observers.run("child: handlers of signals", with);
        INFO(child.output);
        CHECK(child.status == 0);
        CHECK(child.output.find("= blocks the same: 1") != std::string::npos);
        return noted_by(child);
    };
    Strings timeline, watch{name_of(SIGQUIT)};
    for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGINT, SIGSEGV, SIGTERM})
        timeline.push_back(name_of(signal));
    if (!detail::tsan::is_compiled_in) watch.push_back(name_of(SIGRTMIN));  // to read stacks
    std::ranges::sort(timeline);
    std::ranges::sort(watch);
    CHECK(changed({}).empty());
    CHECK(changed({observers.check()}).empty());
    CHECK(changed({observers.timeline()}) == timeline);
    CHECK(changed({observers.watch()}) == watch);
}

TEST_CASE("child: handlers of its own", "[.child]") {
    set_handlers(count_signal);
    work_a_little();
    raise_all();
}
TEST_CASE("child: handlers of its own, from the middle on", "[.child]") {
    work_a_little();
    set_handlers(count_signal);
    raise_all();
}
TEST_CASE("child: signals that it ignores", "[.child]") {
    set_handlers(SIG_IGN);
    work_a_little();
    raise_all();
}
TEST_CASE("unchanged: signal handlers of the program") {
    check_unchanged(GENERATE("child: handlers of its own",
                             "child: handlers of its own, from the middle on",
                             "child: signals that it ignores"));
}

// Threads and processes --------------------------------------------------------------------------

namespace {

/// Returns the names of the process's threads.
Strings threads() {
    Strings all;
    for (const auto& one : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        if (std::getline(std::ifstream(one.path() / "comm"), name)) all.push_back(name);
    }
    std::ranges::sort(all);
    return all;
}

}  // namespace

TEST_CASE("child: threads", "[.child]") {
    for (int i = 0; i < 3; ++i) work_a_little();
    for (const std::string& name : threads()) std::printf("+ %s\n", name.c_str());
    int status = 0;
    std::printf("= has no child: %d\n",
                static_cast<int>(waitpid(-1, &status, __WALL | WNOHANG) < 0 && errno == ECHILD));
}

TEST_CASE("child: threads of calls", "[.child]") {
    work_a_little();
    const std::size_t before = threads().size();
    for (int i = 0; i < 3; ++i) {
        check::start();
        const timeline::Recording recording;
        work_a_little();
        (void)check::stop();
    }
    std::printf("= %zu more of checks and recordings\n", threads().size() - before);
    for (int i = 0; i < 3; ++i) {
        watch({.limit = std::chrono::milliseconds(0)});
        work_a_little();
        end_watch();
    }
    std::printf("= %zu more of watches\n", threads().size() - before);
}

TEST_CASE("unchanged: threads, processes") {
    if (detail::tsan::is_compiled_in) HEDDLE_SKIP("each stream has a thread with this sanitizer");
    const Observers observers;
    const auto run = [&](const Strings& with) {
        const ChildResult child = observers.run("child: threads", with);
        INFO(child.output);
        CHECK(child.output.find("= has no child: 1") != std::string::npos);
        return noted_by(child);
    };
    const Strings alone = run({});
    CHECK(alone.size() >= 3);  // at least this thread and the workers
    CHECK(run({observers.check()}) == alone);
    CHECK(run({observers.timeline()}).size() == alone.size() + 1);
    CHECK(without(run({observers.watch()}), alone) == Strings{"heddle-watch"});
    CHECK(run({observers.check(), observers.timeline(), observers.watch()}).size() ==
          alone.size() + 2);
    const ChildResult calls = observers.run("child: threads of calls", {});
    INFO(calls.output);
    CHECK(calls.output.find("= 0 more of checks and recordings") != std::string::npos);
    CHECK(calls.output.find("= 1 more of watches") != std::string::npos);
}

// Files ------------------------------------------------------------------------------------------

namespace {

Strings files_in(const std::filesystem::path& folder) {
    Strings all;
    for (const auto& one : std::filesystem::recursive_directory_iterator(folder))
        all.push_back(one.path().filename().string());
    std::ranges::sort(all);
    return all;
}

}  // namespace

TEST_CASE("child: files", "[.child]") {
    const std::filesystem::path home = std::getenv("HOME");
    REQUIRE(chdir(home.c_str()) == 0);
    const mode_t mask = umask(027);
    const auto open_files = [] { return files_in("/proc/self/fd"); };
    const Strings before = open_files();
    work_a_little();
    const std::string report = std::getenv("HEDDLE_TEST_REPORT");
    if (!report.empty()) {
        const Stream s = named("stuck");
        const Held held(s);
        held.wait();
        const std::string file = report + "/report-" + std::to_string(getpid()) + ".txt";
        CHECK(eventually([&] { return std::filesystem::exists(file); }));
    }
    std::printf("= in its folder: %d\n", static_cast<int>(std::filesystem::current_path() == home));
    std::printf("= umask %o\n", static_cast<unsigned>(umask(mask)));
    // The file of a report becomes visible shortly before heddle closes it.
    std::printf("= has the open files of before: %d\n",
                static_cast<int>(eventually([&] { return open_files() == before; })));
}

TEST_CASE("unchanged: files") {
    const Observers observers, of_program;
    const Strings home{"HOME=" + of_program.folder(), "TMPDIR=" + of_program.folder()};
    const auto run = [&](const Strings& with, const std::string& report) {
        Strings variables = home;
        variables.push_back("HEDDLE_TEST_REPORT=" + report);
        const ChildResult child = observers.run("child: files", with, variables);
        INFO(child.output);
        CHECK(child.status == 0);
        CHECK(files_in(of_program.folder()).empty());
        return told_by(child);
    };
    // Counts the files whose names begin with `begin`, and deletes them.
    const auto written = [&](const std::string& begin) {
        std::ptrdiff_t count = 0;
        for (const std::string& name : files_in(observers.folder())) {
            count += name.starts_with(begin) ? 1 : 100;
            std::filesystem::remove(std::filesystem::path(observers.folder()) / name);
        }
        return count;
    };
    const std::string alone = run({}, "");
    CHECK(written("") == 0);
    CHECK(run({observers.check()}, "") == alone);
    CHECK(written("") == 0);
    CHECK(run({observers.timeline()}, "") == alone);
    CHECK(written("run-") == 1);
    CHECK(run({"HEDDLE_WATCH=1000m,file=" + observers.folder() + "/report-%p.txt"}, "") == alone);
    CHECK(written("") == 0);  // no report was requested, and no work hung
    CHECK(run({observers.watch()}, observers.folder()) == alone);
    CHECK(written("report-") == 1);
}

// Time -------------------------------------------------------------------------------------------

namespace {

/// A clock for decisions that counts the pauses of one thread.
class CountedPauses final : public detail::DecisionClock {
public:
    std::int64_t now_ns() noexcept override { return detail::now_ns(); }
    void wait(std::atomic<std::uint32_t>&, std::uint32_t, std::int64_t) noexcept override {
        if (std::this_thread::get_id() == thread_) ++pauses_;
        else std::this_thread::yield();
    }
    std::int64_t spin_ns(std::int64_t usual) noexcept override { return usual; }
    int pauses() const { return pauses_.load(); }

private:
    std::thread::id thread_ = std::this_thread::get_id();
    std::atomic<int> pauses_{0};
};

/// Makes calls of many kinds, and waits for the work.
void call_much() {
    const Stream a(cpu_device()), b(cpu_device());
    Array<int> x = zeros<int>(a, 100);
    for (int i = 0; i < 20; ++i) {
        launch(a, Add{}, dim(100), x, 1);
        b.wait_stream(a);
        launch(b, Add{}, dim(100), x, 1);
        const Event event = b.record_event();
        a.wait_event(event);
        event.synchronize();
        const Stream once(cpu_device(), {.name = "opened and closed"});
        launch_host(once, [] {});
    }
    Graph graph = capture(a, [&] { launch(a, Add{}, dim(100), x, 1); });
    graph.launch(a);
    {
        Batch batch({.on_cpu = true});
        const ScopedBatch in(batch, a);
        launch(a, Add{}, dim(100), x, 1);
    }
    CHECK(to_host(a, x)[99] == 42);
    (void)error_of([&] { copy(a, x, Array<int>(a, 7)); });
    std::thread([] { work_a_little(); }).join();
    synchronize_device(cpu_device());
}

}  // namespace

TEST_CASE("child: pauses", "[.child]") {
    static CountedPauses& clock = *new CountedPauses;  // never destroyed, because threads read it
    detail::DecisionClock::set(&clock);
    call_much();
    std::printf("= paused %d times\n", clock.pauses());
    std::fflush(stdout);
    _exit(0);
}

// No test measures the overhead of calls. This one checks that no call waits for an observer.
TEST_CASE("unchanged: time, in which no call pauses") {
    const Observers observers;
    std::vector<Strings> all = observers.all();
    all.emplace_back();
    for (const Strings& with : all) {
        const ChildResult child = observers.run("child: pauses", with);
        INFO(child.output);
        CHECK(told_by(child) == "status 0, signal 0\n= paused 0 times");
    }
}

TEST_CASE("unchanged: time, though the watching thread is held in a report") {
    const Drained drained;
    const Flag inside, opened, timed_out;
    watch({.limit = std::chrono::milliseconds(20),
           .on_signal = false,
           .on_report = [=](const PendingWork&, const std::string&) {
               inside.set();
               if (!opened.wait()) timed_out.set();
           }});
    {
        const Stream s = named("stuck");
        const Held held(s);
        CHECK(inside.wait());
    }
    call_much();
    end_watch();
    watch({.limit = std::chrono::milliseconds(0), .on_signal = false});
    call_much();
    end_watch();
    CHECK(!timed_out.is_set());
    opened.set();
}
