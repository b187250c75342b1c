// Processes: environment variables, exit with pending work, static objects in any order, and the
// default report hook.
#include "child.hpp"
#include "kernel_launches.hpp"
#include "support.hpp"

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>

#include <unistd.h>

using namespace heddle_test;

namespace {

/// Runs a hidden test case. It must succeed, and heddle must not print anything.
void expect_clean(const std::string& name) {
    const ChildResult child = run_test_case(name);
    INFO(child.output);
    CHECK(child.signal == 0);
    CHECK(child.status == 0);
    CHECK(child.output.find("heddle:") == std::string::npos);  // heddle printed no message
}

/// Objects of every kind. Some have pending work.
struct Everything {
    Stream stream;
    Stream second;
    StreamPool pool;
    StreamPool::Lease lease;
    Event event;
    Array<int> array;
    Array<int> staging;

    Everything()
        : stream(test_device()), second(test_device()), pool(test_device()), lease(pool.lease()),
          event(test_device()), array(zeros<int>(stream, 100'000)), staging(pinned<int>(100'000)) {}

    void give_work() {
        for (int i = 0; i < 200; ++i) {
            launch(stream, Add{}, dim(array.size()), array, 1);
            copy(stream, staging, array);
            launch_host(stream, [] {});
            second.wait_stream(stream);
            launch_host(second, [] {});
            launch_host(lease, [] {});
        }
        event.record(second);
        lease.wait_event(event);
        launch_host(default_stream(test_device()), [] {});
        launch_host(Stream::per_thread(test_device()), [] {});
    }
};

/// Uses heddle in its destructor, which runs after main().
struct UsesHeddleLate {
    ~UsesHeddleLate() {
        const Stream s(cpu_device());
        Array<int> x = full<int>(s, 100, 1);
        bool ran = false;
        launch(s, Add{}, dim(100), x, 1);
        launch_host(s, [&] { ran = true; });
        if (to_host(s, x)[99] != 2 || !ran) {
            std::fprintf(stderr, "heddle did not work after main\n");
            std::_Exit(3);
        }
    }
};

}  // namespace

TEST_CASE("child: exit with pending work on static objects", "[.child]") {
    end_if_it_hangs();
    static Everything everything;
    everything.give_work();
    std::exit(0);
}

TEST_CASE("child: exit with pending work on local objects", "[.child]") {
    end_if_it_hangs();
    Everything everything;
    everything.give_work();
    std::exit(0);
}

TEST_CASE("child: exit with static objects made before heddle was used", "[.child]") {
    end_if_it_hangs();
    static UsesHeddleLate late;
    static Everything everything;
    everything.give_work();
    std::exit(0);
}

TEST_CASE("child: exit with a stream that is held for ever", "[.child]") {
    end_if_it_hangs();
    static Gate* const gate = new Gate;  // is never opened or destroyed
    static Stream s(test_device());
    gate->hold(s);
    launch_host(s, [] {});
    static Array<int> x = zeros<int>(s, 100);
    std::exit(0);
}

TEST_CASE("child: exit while a host function runs", "[.child]") {
    end_if_it_hangs();
    const Flag running, never;
    static Stream s(cpu_device());
    launch_host(s, [running, never] {
        running.set();
        never.wait();
    });
    running.wait();
    std::exit(0);
}

TEST_CASE("child: exit while other threads give work", "[.child]") {
    end_if_it_hangs();
    std::atomic<int> begun{0};
    for (int t = 0; t < 4; ++t)
        std::thread([&] {
            const Stream s(cpu_device());
            ++begun;
            for (;;) {
                Array<int> x = zeros<int>(s, 1000);
                launch(s, Add{}, dim(1000), x, 1);
                launch_host(s, [] {});
                s.synchronize();
            }
        }).detach();
    eventually([&] { return begun == 4; });
    std::exit(0);
}

TEST_CASE("child: exit inside of scopes", "[.child]") {
    end_if_it_hangs();
    const Stream a(test_device()), b(test_device());
    const ScopedStream in_a{a, {.wait_on_enter = true, .wait_on_exit = true}};
    static ScopedStream in_b{b};
    launch_host([] {});
    std::exit(0);
}

TEST_CASE("exit with pending work on static objects is clean") {
    expect_clean("child: exit with pending work on static objects");
}
TEST_CASE("exit with pending work on local objects is clean") {
    expect_clean("child: exit with pending work on local objects");
}
TEST_CASE("static objects older than heddle may use it when they are destroyed") {
    expect_clean("child: exit with static objects made before heddle was used");
}
TEST_CASE("exit with work that can never run is clean") {
    if (!test_device().is_cpu())
        HEDDLE_SKIP("the driver waits for work on a GPU when the process ends");
    expect_clean("child: exit with a stream that is held for ever");
}
TEST_CASE("exit while a host function runs is clean") {
    expect_clean("child: exit while a host function runs");
}
TEST_CASE("exit while other threads give work is clean") {
    expect_clean("child: exit while other threads give work");
}

TEST_CASE("exit inside of scopes does no harm") {
    const ChildResult child = run_test_case("child: exit inside of scopes");
    INFO(child.output);
    CHECK(child.signal == 0);
    CHECK(child.status == 0);  // the child may report failures
}

// The environment ---------------------------------------------------------------------------------

/// If HEDDLE_TEST_EARLY is set: the number of CPU devices, queried before main().
const int asked_before_main =
    std::getenv("HEDDLE_TEST_EARLY") != nullptr ? device_count(DeviceKind::cpu) : 0;

TEST_CASE("child: says what devices there are", "[.child]") {
    end_if_it_hangs();
    if (asked_before_main != 0) std::printf("before main:%d\n", asked_before_main);
    const auto error = error_of([] { default_device(); });
    std::printf("default:%s\n", error ? to_string(error->code()) : default_device().name().c_str());
    std::printf("devices:%d\n", device_count(DeviceKind::cpu));
    std::printf("workers:%d\n", cpu_workers());
    const Stream s(cpu_device());
    launch_host(s, [] {});
    s.synchronize();
    std::printf("works\n");
}

TEST_CASE("HEDDLE_DEVICE names the default device") {
    const auto child = run_test_case("child: says what devices there are",
                                     {"HEDDLE_DEVICE=cpu:1", "HEDDLE_CPU_DEVICES=3"});
    CHECK_THAT(child.output, contains("default:cpu:1\n"));
    CHECK_THAT(child.output, contains("devices:3\n"));
    CHECK_THAT(child.output, contains("works"));
}

TEST_CASE("without HEDDLE_DEVICE the default is the first CUDA device, else the first CPU device") {
    const auto child = run_test_case("child: says what devices there are", {"HEDDLE_DEVICE="});
    CHECK_THAT(child.output, contains("default:" + to_string(devices().front()) + "\n"));
}

TEST_CASE("a HEDDLE_DEVICE that is none is an error where the default device is asked for, and no "
          "crash") {
    for (const char* value :
         {"HEDDLE_DEVICE=toaster", "HEDDLE_DEVICE=cuda:77", "HEDDLE_DEVICE=cpu:63"}) {
        CAPTURE(value);
        const auto child =
            run_test_case("child: says what devices there are", {value, "HEDDLE_CPU_DEVICES=1"});
        CHECK(child.signal == 0);
        const std::string code =
            to_string(std::string(value) == "HEDDLE_DEVICE=toaster" ? ErrorCode::usage
                                                                    : ErrorCode::no_device);
        CHECK_THAT(child.output, contains("default:" + code));
    }
}

TEST_CASE("HEDDLE_CPU_THREADS says how many workers there are") {
    for (const char* n : {"1", "3"}) {
        const auto child = run_test_case("child: says what devices there are",
                                         {std::string("HEDDLE_CPU_THREADS=") + n});
        CHECK_THAT(child.output, contains(std::string("workers:") + n + "\n"));
        CHECK_THAT(child.output, contains("works"));
    }
}

TEST_CASE("nonsense in the environment leaves a CPU device that works") {
    for (const char* value : {"", "0", "-1", "abc", "1000000"}) {
        CAPTURE(value);
        const auto child = run_test_case("child: says what devices there are",
                                         {std::string("HEDDLE_CPU_DEVICES=") + value,
                                          "HEDDLE_CPU_THREADS=" + std::string(value)});
        INFO(child.output);
        CHECK(child.signal == 0);
        CHECK(child.output.find("devices:0") == std::string::npos);
        CHECK(child.output.find("workers:0") == std::string::npos);
        CHECK_THAT(child.output, contains("works"));
    }
}

TEST_CASE("a number in the environment that cannot be taken as it is is reported once, with what "
          "is used instead") {
    const auto said = [](const std::string& setting, const std::string& used) {
        const auto child = run_test_case("child: says what devices there are", {setting});
        CAPTURE(setting, used, child.output);
        const std::size_t equals = setting.find('=');
        const std::size_t at =
            child.output.find("heddle: " + setting.substr(0, equals + 1) + '"' +
                              setting.substr(equals + 1) + "\" is not a whole number from 1 to ");
        CHECK(at != std::string::npos);
        CHECK(child.output.find("is not a whole number", at + setting.size() + 20) ==
              std::string::npos);
        CHECK_THAT(child.output, contains("; " + used + " is used instead\n"));
        CHECK_THAT(child.output,
                   contains((setting.starts_with("HEDDLE_CPU_DEVICES") ? "devices:" : "workers:") +
                            used + "\n"));
        CHECK_THAT(child.output, contains("works"));
    };
    for (const char* value : {"abc", "2x", "1.5", " 3", "0", "-99999999999"})
        said(std::string("HEDDLE_CPU_DEVICES=") + value, "1");
    for (const char* value : {"65", "99999999999"})
        said(std::string("HEDDLE_CPU_DEVICES=") + value, "64");
    for (const char* value : {"0", "-1"}) said(std::string("HEDDLE_CPU_THREADS=") + value, "1");
    said("HEDDLE_CPU_THREADS=1025", "1024");

    const auto without =
        run_test_case("child: says what devices there are", {"HEDDLE_CPU_THREADS="});
    CHECK(without.output.find("heddle:") == std::string::npos);  // an empty value is like none
    const std::size_t at = without.output.find("workers:") + 8;
    const std::string cores = without.output.substr(at, without.output.find('\n', at) - at);
    for (const char* value : {"abc", "2x", "1.5"})
        said(std::string("HEDDLE_CPU_THREADS=") + value, cores);
}

TEST_CASE("a number in the environment may be asked for, and reported, before main") {
    const auto child = run_test_case("child: says what devices there are",
                                     {"HEDDLE_TEST_EARLY=1", "HEDDLE_CPU_DEVICES=2x"});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK_THAT(child.output, contains("HEDDLE_CPU_DEVICES=\"2x\" is not a whole number"));
    CHECK_THAT(child.output, contains("before main:1\n"));
}

TEST_CASE("child: a report hook that asks for the devices again", "[.child]") {
    end_if_it_hangs();
    set_report_hook([](const Error& error) {
        std::printf("hook: %s, %d devices\n", to_string(error.code()),
                    device_count(DeviceKind::cpu));
    });
    std::printf("devices:%d\n", device_count(DeviceKind::cpu));
}

TEST_CASE(
    "the report hook is told of a bad number in the environment, and may ask for the devices") {
    const auto child = run_test_case("child: a report hook that asks for the devices again",
                                     {"HEDDLE_CPU_DEVICES=100"});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK_THAT(child.output, contains("hook: usage, 64 devices\ndevices:64\n"));
}

TEST_CASE("child: leaves scopes out of order", "[.child]") {
    const Stream a(cpu_device(), {.priority = 0, .name = "the one in the report"}), b(cpu_device());
    std::unique_ptr<ScopedStream> first(new ScopedStream(a));
    const ScopedStream second{b};
    first.reset();
}

TEST_CASE("without a report hook errors that cannot be thrown go to standard error") {
    const auto child = run_test_case("child: leaves scopes out of order");
    CHECK(child.status == 0);
    CHECK_THAT(child.output, contains("process_test.cpp"));
    CHECK_THAT(child.output, contains("heddle"));
}

namespace {
/// An object whose destructor releases a host function that holds the stream's work, and then
/// synchronises the stream.
struct SynchronisesLate {
    Flag release;
    std::unique_ptr<Stream> stream;
    std::atomic<bool> ran{false};
    ~SynchronisesLate() {
        if (stream == nullptr) return;
        release.set();
        stream->synchronize();
        std::_Exit(ran ? 0 : 4);
    }
};

}  // namespace

TEST_CASE("child: waits after main for work that a worker makes ready as it ends", "[.child]") {
    end_if_it_hangs();
    static SynchronisesLate late;  // made before the executor, so destroyed after the executor
    static Stream slow(cpu_device());
    late.stream = std::make_unique<Stream>(cpu_device());
    const Flag running;
    launch_host(slow, [running] {
        running.set();
        late.release.wait();
        eventually(main_thread_is_blocked);
    });
    late.stream->wait_stream(slow);
    launch_host(*late.stream, [] { late.ran = true; });
    REQUIRE(running.wait());
    std::exit(0);
}

TEST_CASE("a static object may wait for work that becomes ready only while the workers end") {
    expect_clean("child: waits after main for work that a worker makes ready as it ends");
}

TEST_CASE("child: keeps a reference to a stream that is gone", "[.child]") {
    end_if_it_hangs();
    std::optional<Stream> first(cpu_device());
    const Stream second(cpu_device());
    const detail::StreamState* const gone = &detail::Access::state(*first);
    first.reset();
    second.synchronize();
    bool reused = false;
    for (int i = 0; i < 1024; ++i) {
        const Stream other(cpu_device());
        reused |= &detail::Access::state(other) == gone;
    }
    CHECK_FALSE(reused);
}
TEST_CASE("the place of a stream that is gone is taken by no other for a good while, from the "
          "first stream on") {
    expect_clean("child: keeps a reference to a stream that is gone");
}
