// watch(): single, repeated and requested reports, also in forked children and at std::terminate().
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <thread>
#include <unistd.h>

#include "core/base/clock.hpp"
#include "virtual_case.hpp"
#include "watch/held.hpp"
#include "watch/stacks.hpp"

using namespace heddle_test;

namespace {

/// Collects the reports of a watch that has a time limit.
class Reported {
public:
    explicit Reported(std::chrono::milliseconds limit) {
        watch({.limit = limit, .on_signal = limit.count() == 0, .on_report = note()});
    }
    ~Reported() { end_watch(); }
    std::vector<std::string> all() const {
        const std::lock_guard lock(state_->mutex);
        return state_->texts;
    }
    /// Blocks until a report contains this text. Returns false if none does in time.
    bool receives(const std::string& part) const {
        return eventually(
            [&] { return std::ranges::any_of(all(), [&](auto& one) { return has(one, part); }); });
    }

private:
    struct State {
        std::mutex mutex;
        std::vector<std::string> texts;
    };
    std::function<void(const PendingWork&, const std::string&)> note() {
        return [state = state_](const PendingWork&, const std::string& text) {
            const std::lock_guard lock(state->mutex);
            state->texts.push_back(text);
        };
    }
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

constexpr std::chrono::milliseconds short_limit{50};

}  // namespace

TEST_CASE("a stuck stream is reported", "[watch]") {
    const Drained drained;
    const Stream s = named("stuck");
    const Reported reported(short_limit);
    Held held(s, SourceLocation{"held.cpp", 1});
    REQUIRE(reported.receives("at held.cpp:1 has not returned"));
    CHECK(reported.all().back().starts_with("heddle: nothing has completed on cpu:0 for "));
    CHECK(!has(reported.all().back(), "    on heddle-"));
}

TEST_CASE("virtual: a stream that is stuck twice", "[.]") {
    virtual_time::begin();
    const std::chrono::milliseconds limit{500}, long_after = 10 * limit;
    const Stream s = named("stuck");
    const Reported reported(limit);
    Held first(s, SourceLocation{"first.cpp", 1}), second(s, SourceLocation{"second.cpp", 2});
    virtual_time::sleep(limit - virtual_time::step);
    CHECK(reported.all().empty());
    virtual_time::sleep(long_after);
    CHECK(reported.all().size() == 1);
    first.open();
    virtual_time::sleep(long_after);
    second.open();
    s.synchronize();
    const std::vector<std::string> all = reported.all();
    REQUIRE(all.size() == 2);
    CHECK(all[0].starts_with("heddle: nothing has completed on cpu:0 for 0.5 s\n"));
    CHECK(has(all[0], "at first.cpp:1 has not returned"));
    CHECK(has(all[1], "at second.cpp:2 has not returned"));
    CHECK(has(all[0], "last operations of 'stuck'"));
}
TEST_CASE("a stuck stream is reported once, after the limit, and again if it is stuck elsewhere",
          "[watch]") {
    HEDDLE_CHECK_IN_VIRTUAL_TIME("virtual: a stream that is stuck twice");
}

TEST_CASE("a report that nobody asked for interrupts no call of the program", "[watch]") {
    const Drained drained;
    int ends[2] = {-1, -1};
    REQUIRE(pipe(ends) == 0);
    const Stream s = named("polling");
    int got = -2;
    {
        const Reported reported(short_limit);
        const auto poll_pipe = [&, from = ends[0]] {
            pollfd one{from, POLLIN, 0};
            got = poll(&one, 1, -1);
        };
        launch_host(s, poll_pipe, SourceLocation{"poll.cpp", 1});
        CHECK(reported.receives("at poll.cpp:1 has not returned"));
    }
    CHECK(write(ends[1], "x", 1) == 1);
    s.synchronize();
    CHECK(got == 1);
    for (const int end : ends) close(end);
}

TEST_CASE("a report that is asked for has the stacks of functions that do not return", "[watch]") {
    detail::prepare_stacks();
    if (!detail::has_stacks()) HEDDLE_SKIP("there are no stacks with this sanitizer");
    const Drained drained;
    const Stream s = named("stuck");
    const Reported reported(std::chrono::milliseconds(0));
    Held held(s);
    held.wait();
    CHECK(eventually([&] {  // until it gets a core, a thread does not answer
        (void)std::raise(SIGQUIT);
        return std::ranges::any_of(reported.all(), [](auto& one) {
            return has(one, "    on heddle-") && has(one, " in heddle_test::Held::Held()");
        });
    }));
}

TEST_CASE("a signal asks for a report, and is the program's again afterwards", "[watch]") {
    const Drained drained;
    const Stream s = named("asked for");
    Held held(s);
    held.wait();
    {
        const Reported reported(std::chrono::milliseconds(0));
        (void)std::raise(SIGQUIT);
        REQUIRE(reported.receives("'asked for' runs"));
        CHECK(reported.all()[0].starts_with("heddle: pending work\n"));
    }
    struct sigaction now {};
    CHECK(sigaction(SIGQUIT, nullptr, &now) == 0);
    CHECK(now.sa_handler == SIG_DFL);
}

namespace {
/// The host's clock. A test can make this clock block the watching thread.
class HeldClock final : public detail::DecisionClock {
public:
    std::int64_t now_ns() noexcept override {
        if (is_watching_thread() && holds.exchange(false)) {
            at.set();
            (void)go_on.wait();
        }
        return detail::now_ns();
    }
    void wait(std::atomic<std::uint32_t>& word, std::uint32_t seen,
              std::int64_t) noexcept override {
        if (is_watching_thread()) ++rests;
        if (word.load() == seen) std::this_thread::yield();
    }
    std::int64_t spin_ns(std::int64_t usual) noexcept override { return usual; }

    std::atomic<bool> holds{false};
    Flag at, go_on;
    std::atomic<int> rests{0};

private:
    static bool is_watching_thread() noexcept {
        char name[16] = {};
        return pthread_getname_np(pthread_self(), name, sizeof name) == 0 &&
               std::string(name) == "heddle-watch";
    }
};
}  // namespace

TEST_CASE("child: a request while the watching thread is on its way", "[.child]") {
    static HeldClock clock;
    detail::DecisionClock::set(&clock);
    const Stream s = named("asked for");
    Held held(s);
    held.wait();
    {
        const Reported old(std::chrono::milliseconds(0));
        clock.holds = true;
        REQUIRE(clock.at.wait());
    }
    const Reported reported(std::chrono::milliseconds(0));
    (void)std::raise(SIGQUIT);
    clock.go_on.set();
    CHECK(reported.receives("'asked for' runs"));
}
TEST_CASE("a request goes to the watch of that moment, not to one that has ended", "[watch]") {
    check_test_case("child: a request while the watching thread is on its way");
}

TEST_CASE("child: a watch that ends with a request", "[.child]") {
    static HeldClock clock;
    detail::DecisionClock::set(&clock);
    const Flag reports, goes_on;
    watch({.limit = std::chrono::milliseconds(0), .on_report = [=](auto&, auto&) {
               reports.set();
               (void)goes_on.wait();
           }});
    (void)std::raise(SIGQUIT);
    REQUIRE(reports.wait());
    (void)std::raise(SIGQUIT);
    end_watch();
    const int before = clock.rests;
    goes_on.set();
    CHECK(eventually([&] { return clock.rests > before; }));
}
TEST_CASE("a request that the end of a watch overtakes keeps no processor busy", "[watch]") {
    check_test_case("child: a watch that ends with a request");
}

TEST_CASE("a program's own handler of the signal stays", "[watch]") {
    static std::atomic<int> calls{0};
    const auto before = std::signal(SIGQUIT, [](int) { ++calls; });
    {
        const Reported reported(std::chrono::milliseconds(0));
        (void)std::raise(SIGQUIT);
    }
    (void)std::signal(SIGQUIT, before);
    CHECK(calls == 1);
}

TEST_CASE("virtual: a stream that is stuck below a long limit", "[.]") {
    virtual_time::begin();
    const Stream s = named("stuck");
    Held held(s);
    held.wait();
    for (const std::chrono::milliseconds limit :
         {std::chrono::milliseconds::max(),
          std::chrono::milliseconds(std::chrono::hours(4'380'000)),
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds::max())}) {
        const Reported reported(limit);
        virtual_time::sleep(std::chrono::seconds(5));
        CHECK(reported.all().empty());
    }
}
TEST_CASE("a limit that is longer than all time never comes", "[watch]") {
    HEDDLE_CHECK_IN_VIRTUAL_TIME("virtual: a stream that is stuck below a long limit");
}

TEST_CASE("virtual: a program that is stuck for five seconds", "[.]") {
    virtual_time::begin();
    const Stream s = named("stuck");
    Held held(s);
    virtual_time::sleep(std::chrono::seconds(5));
}
TEST_CASE("a limit in HEDDLE_WATCH that is longer than all time never comes", "[watch]") {
    if (const std::string reason = virtual_time::reason_not(); !reason.empty()) HEDDLE_SKIP(reason);
    for (const char* const value :
         {"250000000m", "9223372036854775807", "99999999999999999999ms"}) {
        const ChildResult child =
            run_test_case("virtual: a program that is stuck for five seconds",
                          {std::string("HEDDLE_WATCH=") + value, "HEDDLE_TEST_DEVICE=cpu",
                           "CUDA_VISIBLE_DEVICES="});
        INFO(child.output);
        CHECK(child.status == 0);
        CHECK(!has(child.output, "heddle:"));
    }
}

TEST_CASE("a limit below 0 is refused", "[watch]") {
    CHECK_THROWS_AS(watch({.limit = std::chrono::milliseconds(-1)}), UsageError);
}

TEST_CASE("the child of a fork is watched, too, from its first stream on", "[watch]") {
    HEDDLE_SKIP_WITHOUT_FORK();
    const Drained drained;
    const Stream s(cpu_device());
    s.synchronize();
    const Reported reported(short_limit);
    check_forked([&] {
        const Stream own = named("child's");
        Held held(own, SourceLocation{"child.cpp", 3});
        return reported.receives("at child.cpp:3 has not returned") ? 0 : 1;
    });
    CHECK(reported.all().empty());  // the parent process makes progress
}

namespace {
std::string text_of(const std::filesystem::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}
bool has_report(const std::filesystem::path& file) {
    return eventually([&] { return has(text_of(file), "nothing is pending\n"); });
}
}  // namespace

TEST_CASE("the child of a fork leaves its parent's file of reports alone", "[watch]") {
    HEDDLE_SKIP_WITHOUT_FORK();
    const Drained drained;
    const std::filesystem::path file = std::filesystem::temp_directory_path() /
                                       ("heddle_watch_" + std::to_string(getpid()) + ".txt");
    watch({.limit = std::chrono::milliseconds(0), .file = file.string()});
    const Stream s(cpu_device());
    s.synchronize();
    (void)std::raise(SIGQUIT);
    CHECK(has_report(file));
    const std::string before = text_of(file);
    for (const bool is_watched_anew : {false, true}) {
        check_forked([&] {
            if (is_watched_anew)
                watch({.limit = std::chrono::milliseconds(0), .file = file.string()});
            const Stream own(cpu_device());
            (void)std::raise(SIGQUIT);
            const std::filesystem::path own_file = file.string() + "." + std::to_string(getpid());
            const bool is_there = has_report(own_file);
            std::filesystem::remove(own_file);
            return is_there ? 0 : 1;
        });
        CHECK(text_of(file) == before);
    }
    end_watch();
    std::filesystem::remove(file);
}

TEST_CASE("child: a program that calls std::terminate", "[.child]") {
    virtual_time::begin();  // the process waits for the report, but only for a limited time
    std::set_terminate([] {
        std::fputs("the program's handler\n", stderr);
        std::_Exit(3);
    });
    const Stream s = named("ended");
    launch_host(s, [] {}, SourceLocation{"last.cpp", 7});
    s.synchronize();
    std::terminate();
}

TEST_CASE("std::terminate writes the last operations, and calls the handler of before", "[watch]") {
    if (const std::string reason = virtual_time::reason_not(); !reason.empty()) HEDDLE_SKIP(reason);
    const ChildResult child =
        run_test_case("child: a program that calls std::terminate",
                      {"HEDDLE_WATCH=1m", "HEDDLE_TEST_DEVICE=cpu", "CUDA_VISIBLE_DEVICES="});
    INFO(child.output);
    CHECK(child.status == 3);
    CHECK(has(child.output, "heddle: std::terminate() was called\n"));
    CHECK(has(child.output, "last operations of 'ended':\n"));
    CHECK(has(child.output, "at last.cpp:7 (done)\n"));
    CHECK(has(child.output, "the program's handler\n"));
}

TEST_CASE("child: a program with one stream", "[.child]") {
    const Stream s(cpu_device());
    launch_host(s, [] {});
    s.synchronize();
}

TEST_CASE("a value of HEDDLE_WATCH that is no time is reported, and the program goes on",
          "[watch]") {
    for (const char* const value :
         {"soon", "10x", "-1s", "-99999999999999999999", "10s,folder=x", "10s,file="}) {
        const ChildResult child = run_test_case("child: a program with one stream",
                                                {std::string("HEDDLE_WATCH=") + value});
        INFO(child.output);
        CHECK(child.status == 0);
        CHECK(has(child.output, "nothing is watched"));
    }
    const ChildResult child =
        run_test_case("child: a program with one stream", {"HEDDLE_WATCH=500ms"});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK(!has(child.output, "nothing is watched"));
}
