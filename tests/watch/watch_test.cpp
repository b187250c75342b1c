// watch(): reports come once, and again; on request, in children, and at std::terminate().
#include <csignal>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "child.hpp"
#include "watch/held.hpp"

using namespace heddle_test;

namespace {

/// The reports of a watch with a short limit.
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
    /// Waits until there are so many.
    bool await(std::size_t count) const {
        return eventually([&] { return all().size() >= count; });
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

TEST_CASE("a stuck stream is reported once, and again when it is stuck elsewhere", "[watch]") {
    const Drained drained;
    const Stream s = named("stuck");
    const Reported reported(short_limit);
    Held first(s, SourceLocation{"first.cpp", 1}), second(s, SourceLocation{"second.cpp", 2});
    REQUIRE(reported.await(1));
    first.open();
    REQUIRE(reported.await(2));
    second.open();
    s.synchronize();
    const std::vector<std::string> all = reported.all();
    REQUIRE(all.size() == 2);
    CHECK(all[0].starts_with("heddle: nothing has completed on cpu:0 for "));
    CHECK(has(all[0], "at first.cpp:1 has not returned"));
    CHECK(has(all[1], "at second.cpp:2 has not returned"));
    CHECK(has(all[0], "last operations of 'stuck'"));
}

TEST_CASE("a signal asks for a report, and is the program's again afterwards", "[watch]") {
    const Drained drained;
    const Stream s = named("asked for");
    Held held(s);
    held.await();
    {
        const Reported reported(std::chrono::milliseconds(0));
        (void)std::raise(SIGQUIT);
        REQUIRE(reported.await(1));
        CHECK(reported.all()[0].starts_with("heddle: what is pending\n"));
        CHECK(has(reported.all()[0], "'asked for' runs"));
    }
    struct sigaction now {};
    CHECK(sigaction(SIGQUIT, nullptr, &now) == 0);
    CHECK(now.sa_handler == SIG_DFL);
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

TEST_CASE("a limit below 0 is refused", "[watch]") {
    CHECK_THROWS_AS(watch({.limit = std::chrono::milliseconds(-1)}), UsageError);
}

TEST_CASE("the child of a fork is watched, too, from its first stream on", "[watch]") {
    HEDDLE_SKIP_WITHOUT_FORK();
    const Drained drained;
    const Stream s(cpu_device());
    s.synchronize();
    const Reported reported(short_limit);
    const ChildResult child = run_forked([&] {
        const Stream own = named("child's");
        Held held(own, SourceLocation{"child.cpp", 3});
        if (!reported.await(1)) return 1;
        return has(reported.all()[0], "at child.cpp:3 has not returned") ? 0 : 2;
    });
    CHECK(child.signal == 0);
    CHECK(child.status == 0);
    CHECK(reported.all().empty());  // the parent is not stuck
}

TEST_CASE("child: a program that calls std::terminate", "[.child]") {
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
    const ChildResult child =
        run_test_case("child: a program that calls std::terminate", {"HEDDLE_WATCH=1m"});
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
    for (const char* const value : {"soon", "10x", "-1s", "10s,folder=x", "10s,file="}) {
        const ChildResult child = run_test_case("child: a program with one stream",
                                                {std::string("HEDDLE_WATCH=") + value});
        INFO(child.output);
        CHECK(child.status == 0);
        CHECK(has(child.output, "nothing is watched"));
    }
    const ChildResult child =
        run_test_case("child: a program with one stream", {"HEDDLE_WATCH=500ms"});
    CHECK(!has(child.output, "heddle: "));
}
