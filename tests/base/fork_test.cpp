// fork(): in a child, inherited objects cause clear errors, and new streams of CPU devices work.
#include "child.hpp"
#include "core/base/report.hpp"
#include "core/seam/backend.hpp"
#include "kernel_launches.hpp"
#include "support.hpp"

#include <cstdio>

using namespace heddle_test;

namespace {

/// Returns 0 if a new CPU stream works. Otherwise returns the number of the check that failed.
int use_a_new_stream() {
    const Stream s(cpu_device()), other(cpu_device());
    Array<int> x = full<int>(s, 10'000, 1);
    launch(s, Add{}, dim(10'000), x, 2);
    other.wait_stream(s);
    if (to_host(other, x) != std::vector<int>(10'000, 3)) return 1;
    std::atomic<bool> ran{false};
    launch_host(s, [&] { ran = true; });
    const Event event = s.record_event();
    event.synchronize();
    if (!ran) return 2;
    synchronize_device(cpu_device());
    return 0;
}

template <class F> bool is_forked_error(F&& call) {
    const auto error = error_of(call);
    if (!error) std::fprintf(stderr, "in the child: not refused\n");
    if (error && error->code() != ErrorCode::forked)
        std::fprintf(stderr, "in the child: %s\n", error->what());
    return error && error->code() == ErrorCode::forked;
}

}  // namespace

TEST_CASE("the child of a fork is refused its parent's streams, clearly") {
    HEDDLE_SKIP_WITHOUT_FORK();
    const Stream s(test_device());
    launch_host(s, [] {});
    s.synchronize();
    Event event = s.record_event();
    check_forked([&] {
        if (!is_forked_error([&] { launch_host(s, [] {}); })) return 1;
        if (!is_forked_error([&] { s.synchronize(); })) return 2;
        if (!is_forked_error([&] { (void)s.record_event(); })) return 3;
        if (!is_forked_error([&] { (void)empty<int>(s, 4); })) return 4;
        const Stream mine(cpu_device());
        if (!is_forked_error([&] { mine.wait_stream(s); })) return 5;
        if (!is_forked_error([&] { const ScopedStream in{s}; })) return 6;
        return 0;
    });
    launch_host(s, [] {});
    s.synchronize();  // the stream still works in the parent
}

TEST_CASE("the child of a fork is refused events that only its parent's work would reach") {
    HEDDLE_SKIP_WITHOUT_FORK();
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA refuses everything after fork()");
    const Drained drained;
    const Stream s(test_device());
    Event reached = s.record_event();
    s.synchronize();
    Gate gate(s);
    Event pending = s.record_event();
    check_forked([&] {
        const Stream mine(cpu_device());
        mine.wait_event(reached);
        reached.synchronize();
        mine.synchronize();
        if (!is_forked_error([&] { pending.synchronize(); })) return 1;
        if (!is_forked_error([&] { mine.wait_event(pending); })) return 2;
        mine.synchronize();
        return 0;
    });
    gate.open();
    pending.synchronize();
}

TEST_CASE("the child of a fork can use new CPU streams") {
    HEDDLE_SKIP_WITHOUT_FORK();
    const Stream s(test_device());
    launch_host(s, [] {});
    s.synchronize();
    check_forked([] { return use_a_new_stream(); });
}

TEST_CASE("the child of a fork can use new CPU streams when its parent has work pending") {
    HEDDLE_SKIP_WITHOUT_FORK();
    const Drained drained;
    std::atomic<int> ran{0};
    Gate gate;
    const Stream held(test_device()), busy(cpu_device());
    gate.hold(held);
    launch_host(held, [&] { ++ran; });
    const Flag running, release;
    launch_host(busy, [running, release] {
        running.set();
        release.wait();
    });
    REQUIRE(running.wait());
    check_forked([] { return use_a_new_stream(); });
    release.set();
    gate.open();
    held.synchronize();
    CHECK(ran == 1);  // the function ran in the parent only
}

TEST_CASE("the child of a fork may destroy what it inherited") {
    HEDDLE_SKIP_WITHOUT_FORK();
    auto s = std::make_unique<Stream>(test_device());
    auto x = std::make_unique<Array<int>>(full<int>(*s, 100, 7));
    auto event = std::make_unique<Event>(s->record_event());
    auto staging = std::make_unique<Array<int>>(pinned<int>(100));
    s->synchronize();
    check_forked([&] {
        const Reports reports;
        event.reset();
        x.reset();
        staging.reset();
        s.reset();
        return use_a_new_stream();
    });
    CHECK(to_host(*s, *x) == std::vector<int>(100, 7));  // the parent's array is unchanged
}

TEST_CASE("a child can be forked while other threads use heddle, and can use it too") {
    HEDDLE_SKIP_WITHOUT_FORK();
    REQUIRE(use_a_new_stream() == 0);  // makes heddle's internal objects before the fork
    std::atomic<bool> stop{false};
    Threads threads(3, [&] {
        while (!stop) {
            const Stream s(cpu_device()), other(cpu_device());
            Array<int> x = zeros<int>(s, 1000);
            launch(s, Add{}, dim(1000), x, 1);
            other.wait_stream(s);
            launch_host(other, [] {});
            other.synchronize();
        }
    });
    for (int i = 0; i < 20; ++i) {
        const ChildResult child = run_forked([] { return use_a_new_stream(); });
        CHECK(child.signal == 0);
        CHECK(child.status == 0);
        if (child.status != 0) break;
    }
    stop = true;
    threads.join();
}

TEST_CASE(
    "a child can be forked while other threads use heddle for the first time, and can use it too") {
    HEDDLE_SKIP_WITHOUT_FORK();
    for (int i = 0; i < 8; ++i) {
        const ChildResult child =
            run_test_case("child: forks while heddle is used for the first time");
        INFO(child.output);
        CHECK(child.signal == 0);
        CHECK(child.status == 0);
        if (child.status != 0) break;
    }
}
TEST_CASE("child: forks while heddle is used for the first time", "[.child]") {
    end_if_it_hangs();
    std::atomic<int> begun{0};
    Threads threads(3, [&] {
        ++begun;
        while (begun < 4) {}
        CHECK(use_a_new_stream() == 0);
    });
    while (begun < 3) {}
    ++begun;
    for (int i = 0; i < 10; ++i) CHECK(run_forked([] { return use_a_new_stream(); }).status == 0);
    threads.join();
}

TEST_CASE("a child can capture, whatever other threads were capturing when it was forked") {
    HEDDLE_SKIP_WITHOUT_FORK();
    const auto capture_nothing = [] {
        const Stream s(cpu_device());
        for (int i = 0; i < 10; ++i) (void)capture(s, [] {});
    };
    std::atomic<bool> stop{false};
    Threads threads(3, [&] {
        while (!stop) capture_nothing();
    });
    int good = 0;
    for (int forks = 0; forks < 200 && good == forks; ++forks)
        good += run_forked([&] {
                    capture_nothing();
                    return 0;
                }).status == 0
                    ? 1
                    : 0;
    stop = true;
    threads.join();
    CHECK(good == 200);
}

TEST_CASE("two threads may fork at the same time") {
    HEDDLE_SKIP_WITHOUT_FORK();
    REQUIRE(use_a_new_stream() == 0);
    std::atomic<int> good{0};
    on_threads(2, [&] {
        for (int i = 0; i < 20; ++i)
            good += run_forked([] { return use_a_new_stream(); }).status == 0 ? 1 : 0;
    });
    CHECK(good == 40);
    CHECK(use_a_new_stream() == 0);  // no lock of the parent was left locked
}

TEST_CASE("a process can be forked while its observers report errors") {
    HEDDLE_SKIP_WITHOUT_FORK();
    const ChildResult child = run_test_case("child: forks while observers report");
    INFO(child.output);
    CHECK(child.signal == 0);
    CHECK(child.status == 0);
}
TEST_CASE("child: forks while observers report", "[.child]") {
    end_if_it_hangs();
    struct Reporter final : Observer {
        void on_op(const OpInfo&) noexcept override {
            detail::report(UsageError({.message = "seen", .call = {}}));
        }
    } reporter;
    std::atomic<std::uint64_t> told{0};  // a count alone: storing the errors would fill memory
    const ReportHook before = set_report_hook([&](const Error&) { ++told; });
    add_observer(reporter);
    std::atomic<bool> stop{false};
    Threads threads(2, [&] {
        const Stream s(cpu_device());
        while (!stop) s.wait_stream(s);
    });
    bool good = true;
    for (int i = 0; i < 300 && good; ++i) good = run_forked([] { return 0; }).status == 0;
    stop = true;
    threads.join();
    remove_observer(reporter);
    set_report_hook(before);
    CHECK(good);
    CHECK(told > 0);
}

TEST_CASE("a process that was forked while observers looked can remove them") {
    HEDDLE_SKIP_WITHOUT_FORK();
    struct Held final : Observer {
        Flag inside, leave;
        void on_op(const OpInfo&) noexcept override {
            inside.set();
            leave.wait();
        }
    } held;
    const Stream s(test_device());
    add_observer(held);
    std::thread looking([&] { s.wait_stream(s); });
    REQUIRE(held.inside.wait());
    const ChildResult child = run_forked([&] {
        remove_observer(held);
        return use_a_new_stream();
    });
    held.leave.set();
    looking.join();
    remove_observer(held);
    CHECK(child.signal == 0);
    CHECK(child.status == 0);
}

TEST_CASE("a child's child can use heddle too") {
    HEDDLE_SKIP_WITHOUT_FORK();
    check_forked([] {
        if (const int wrong = use_a_new_stream(); wrong != 0) return wrong;
        const ChildResult grandchild = run_forked([] { return use_a_new_stream(); });
        return grandchild.status;
    });
}

CUDA_TEST_CASE("the child of a process that used CUDA is refused CUDA, clearly") {
    HEDDLE_SKIP_WITHOUT_FORK();
    const Stream s(Device("cuda:0"));
    launch_host(s, [] {});
    s.synchronize();
    check_forked([] {
        return is_forked_error(
                   [] { const Stream mine(detail::Access::device(DeviceKind::cuda, 0)); })
                   ? 0
                   : 1;
    });
}
