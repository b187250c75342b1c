// Observers change nothing. With HEDDLE_CHECK, HEDDLE_TIMELINE or HEDDLE_WATCH, programs behave as
// without them, up to their exit. docs/guide/14-observing.md has the table of exceptions.
#include "kernels.hpp"
#include "operation/unchanged.hpp"

#include <heddle/observe/check.hpp>
#include <heddle/observe/timeline.hpp>
#include <heddle/observe/watch.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>
#include <poll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

using namespace heddle_test;

namespace {

void write_nowhere() {
    void* const none = mmap(nullptr, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile int*>(none) = 1;
}

}  // namespace

// Results, errors, errno, system calls, memory ---------------------------------------------------

TEST_CASE("child: results in order", "[.child]") {
    const Stream a(cpu_device()), b(cpu_device()), c(cpu_device());
    std::vector<int> order;  // the order of the streams protects it
    const auto note = [&](const Stream& s, int what) {
        launch_host(s, [&order, what] { order.push_back(what); });
    };
    for (int i = 0; i < 200; ++i) {
        note(a, 3 * i);
        b.wait_stream(a);
        note(b, 3 * i + 1);
        const Event event = b.record_event();
        c.wait_event(event);
        note(c, 3 * i + 2);
        a.wait_stream(c);
    }
    Array<int> x = zeros<int>(a, 1000);
    for (int i = 0; i < 10; ++i) launch(a, Add{}, dim(1000), x, i);
    const std::vector<int> back = to_host(a, x);
    std::printf("= %zu in order: %d, x[999] = %d\n", order.size(),
                static_cast<int>(std::ranges::is_sorted(order)), back[999]);
}

TEST_CASE("child: errors", "[.child]") {
    const Stream s(cpu_device(), {.name = "fails"});
    Array<int> x(s, 10), y(s, 20);
    std::printf("= %s\n", error_of([&] { copy(s, x, y); })->what());
    launch_host(s, [] { throw std::runtime_error("on purpose"); });
    launch_host(s, [] { std::printf("= this should be dropped\n"); });
    std::printf("= %s\n", error_of([&] { s.synchronize(); })->what());
    (void)s.clear_error();
    launch_host(s, [] { std::printf("= this should run\n"); });
    s.synchronize();
}

TEST_CASE("child: errno", "[.child]") {
    const Stream s(cpu_device());
    Array<int> x(s, 10);
    errno = EDOM;
    for (int i = 0; i < 1000; ++i) {
        fill(s, x, i);
        (void)s.record_event();
    }
    std::printf("= errno %d\n", errno == EDOM ? 0 : errno);
    int inside = 0;
    launch_host(s, [&] {
        errno = ERANGE;
        inside = errno;
    });
    s.synchronize();
    std::printf("= errno in a host function %d\n", inside == ERANGE ? 0 : inside);
}

TEST_CASE("child: system calls that block", "[.child]") {
    int ends[2] = {-1, -1};
    REQUIRE(pipe(ends) == 0);
    const Stream s(cpu_device());
    int polled = -2, slept = -2, error = 0;
    launch_host(s, [&] {
        const timespec pause{0, 100'000'000};  // exceeds the limit of the watch
        slept = nanosleep(&pause, nullptr);
        pollfd one{ends[0], POLLIN, 0};
        polled = poll(&one, 1, -1);
        error = polled < 0 ? errno : 0;
    });
    char byte = 0;
    std::thread reader([&] {  // a thread of the program itself, not a worker
        std::printf("= read %d\n", static_cast<int>(read(ends[0], &byte, 1)));
    });
    for (int i = 0; i < 100; ++i) work_a_little();
    const timespec pause{0, 150'000'000};
    std::printf("= slept %d\n", nanosleep(&pause, nullptr));
    CHECK(write(ends[1], "xy", 2) == 2);
    reader.join();
    s.synchronize();
    std::printf("= polled %d, slept %d, error %d\n", polled, slept, error);
}

TEST_CASE("child: memory", "[.child]") {
    {
        const Stream s(cpu_device());
        for (int i = 0; i < 50; ++i) {
            const Array<int> x = zeros<int>(s, std::size_t{1} << (i % 20));
        }
        s.synchronize();
    }
    trim_pool(cpu_device());
    const MemoryStats left = memory_stats(cpu_device());
    std::printf("= %llu bytes in use\n", static_cast<unsigned long long>(left.in_use));
}

// The names of these test cases are the rows of the guide's table. scripts/check_docs compares
// them.
TEST_CASE("unchanged: results, and the order of work") {
    check_unchanged("child: results in order");
}
TEST_CASE("unchanged: errors that it gets, errno") {
    check_unchanged(GENERATE("child: errors", "child: errno"));
}
TEST_CASE("unchanged: system calls (EINTR)") { check_unchanged("child: system calls that block"); }
TEST_CASE("unchanged: memory") { check_unchanged("child: memory"); }

// A program that should run without observers has none. All others have the requested observers.
TEST_CASE("programs that should be observed are") {
    const Observers observers;
    const auto recordings = [&](const Strings& with) {
        const ChildResult child = observers.run("child: results in order", with);
        INFO(child.output);
        CHECK((child.output.find("heddle check: ") != std::string::npos) ==
              (std::ranges::find(with, observers.check()) != with.end()));
        std::ptrdiff_t count = 0;
        for (const auto& one : std::filesystem::directory_iterator(observers.folder()))
            count += one.path().filename().string().starts_with("run-") ? 1 : 0;
        return count;
    };
    CHECK(recordings({}) == 0);
    CHECK(recordings({observers.check()}) == 0);
    CHECK(recordings({observers.check(), observers.timeline(), observers.watch()}) == 1);
}

// Exits ------------------------------------------------------------------------------------------

TEST_CASE("child: ends by exit", "[.child]") {
    work_a_little();
    std::atexit([] { std::printf("= a handler of exit()\n"); });
    std::exit(7);
}
TEST_CASE("child: ends by exit in a host function", "[.child]") {
    const Stream s(cpu_device());
    launch_host(s, [] { std::exit(6); });
    for (;;) ::pause();
}
TEST_CASE("child: ends by _exit", "[.child]") {
    work_a_little();
    _exit(9);
}
TEST_CASE("child: ends by quick_exit", "[.child]") {
    work_a_little();
    std::quick_exit(5);
}
TEST_CASE("child: ends by an exception", "[.child]") {
    work_a_little();
    std::thread([] { throw std::runtime_error("nobody catches it"); }).join();
}
TEST_CASE("child: ends by abort", "[.child]") {
    work_a_little();
    std::abort();
}
TEST_CASE("child: ends by a fault", "[.child]") {
    work_a_little();
    write_nowhere();
}
TEST_CASE("child: ends by a fault in a host function", "[.child]") {
    const Stream s(cpu_device());
    launch_host(s, [] { write_nowhere(); });
    for (;;) ::pause();
}
TEST_CASE("child: ends by a signal", "[.child]") {
    work_a_little();
    (void)std::signal(SIGTERM, SIG_DFL);
    (void)std::raise(SIGTERM);
}
TEST_CASE("child: ends with work that is pending and a failure that nobody saw", "[.child]") {
    static const Stream s(cpu_device());
    launch_host(s, [] { throw std::runtime_error("nobody sees it"); });
    for (int i = 0; i < 100; ++i) launch_host(s, [] {});
}

TEST_CASE("unchanged: exit status, signal") {
    const std::string name =
        GENERATE("child: ends by exit", "child: ends by exit in a host function",
                 "child: ends by _exit", "child: ends by quick_exit", "child: ends by an exception",
                 "child: ends by abort", "child: ends by a fault",
                 "child: ends by a fault in a host function", "child: ends by a signal",
                 "child: ends with work that is pending and a failure that nobody saw");
    check_unchanged(name);
}

// Memory of observers ----------------------------------------------------------------------------

namespace {
std::size_t allocated() { return mallinfo2().uordblks; }

void work_much(const Stream& s, Array<int>& x) {
    for (int i = 0; i < 20'000; ++i) {
        fill(s, x, i);
        if (i % 100 == 0) s.synchronize();  // limits the queue's size, which never shrinks
    }
    s.synchronize();
}
}  // namespace

TEST_CASE("unchanged: memory, which who has watched gives back") {
    if (HEDDLE_TEST_SANITIZED) HEDDLE_SKIP("a sanitizer replaces malloc()");
    const Drained drained;
    const Stream s(cpu_device());
    Array<int> x(s, 10);
    const auto watch_once = [&](const std::string& how) {
        if (how == "timeline") {
            const timeline::Recording recording;
            work_much(s, x);
            return allocated();
        }
        if (how == "check") check::start();
        else watch({.limit = std::chrono::milliseconds(0), .on_signal = false});
        work_much(s, x);
        const std::size_t most = allocated();
        if (how == "check") (void)check::stop();
        else end_watch();
        return most;
    };
    const std::string how = GENERATE("timeline", "check", "watch");
    INFO(how);
    if (how == "check" && std::getenv("HEDDLE_CHECK") != nullptr)
        HEDDLE_SKIP("the suite is checked already");
    (void)watch_once(how);  // fills the caches that persist
    const std::size_t before = allocated();
    std::size_t most = 0;
    for (int i = 0; i < 3; ++i) most = std::max(most, watch_once(how));
    constexpr std::size_t noise = 100'000;
    CHECK(allocated() < before + noise);
    if (how == "timeline") CHECK(most > before + 20'000 * 64);
}
