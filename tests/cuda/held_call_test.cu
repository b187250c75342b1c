// Blocks a thread inside a native call while others query, wait, synchronize and batch on a GPU.
// docs/internals.md has the table of cases. in_the_middle_test.cpp and batch_window_test.cpp do the
// same on the CPU backend. Each case runs in its own process, because the native calls stay
// replaced until the process ends.
#include "../child.hpp"
#include "../kernels.hpp"
#include "../support.hpp"
#include "core/seam/records.hpp"
#include "faults.hpp"

#include <heddle/observe/check.hpp>

#include <thread>

using namespace heddle_test;

namespace {

Device gpu() { return Device("cuda:0"); }

/// A thread that is blocked inside its first native call named `call`.
class HeldThread {
public:
    template <class F> HeldThread(const char* call, At when, F function) {
        inside_call(call, when, [reached = reached_, go = go_] {
            reached.set();
            go.wait();
            return 0;
        });
        thread_ = std::thread(function);
        is_held_ = reached_.wait();
    }
    ~HeldThread() { release(); }
    HeldThread(const HeldThread&) = delete;
    HeldThread& operator=(const HeldThread&) = delete;

    bool is_held() const { return is_held_; }
    void release() {
        go_.set();
        if (thread_.joinable()) thread_.join();
    }

private:
    const Flag reached_, go_;
    std::thread thread_;
    bool is_held_ = false;
};

const char* const launch_call = "cudaLaunchKernel";
const char* const wait_call = "cuStreamWaitEvent";

bool is_recorded(StreamRef stream) {
    return detail::record_of(stream).has(detail::stream_flag::recording);
}

/// Loads the kernels and creates the objects that heddle creates once.
void warm_up() {
    install_faults();
    const Stream a(gpu()), b(gpu());
    Array<int> x = zeros<int>(a, 10);
    launch(a, Add{}, dim(10), x, 1);
    launch(a, Multiply{}, dim(10), x, 2);
    launch(a, Set{}, dim(10), x, 1);
    b.wait_stream(a);
    REQUIRE(to_host(b, x) == Ints(10, 1));
}

void run_in_child(const char* name) {
    if (device_count(DeviceKind::cuda) == 0) HEDDLE_SKIP("there is no CUDA device");
    check_test_case(name);
}

}  // namespace

TEST_CASE("child: a thread is held inside a launch", "[.child]") {
    warm_up();
    const Stream s(gpu()), other(gpu());
    Array<int> x = full<int>(s, 10, 1), seen = zeros<int>(other, 10);
    s.synchronize();
    other.synchronize();
    DrainedGate gate(s);
    HeldThread second(launch_call, At::begin, [&] { launch(s, Add{}, dim(10), x, 1); });
    REQUIRE(second.is_held());
    other.wait_stream(s);
    CHECK_FALSE(s.is_complete());  // the gate is still closed
    second.release();
    other.wait_stream(s);  // needed: the earlier wait does not cover the launch
    launch(other, CopyKernel{}, dim(10), x, seen);
    gate.open();
    CHECK(to_host(other, seen) == Ints(10, 2));
}

TEST_CASE("child: a thread is held behind a launch that heddle has not counted", "[.child]") {
    warm_up();
    const Stream s(gpu()), other(gpu());
    Array<int> x = full<int>(s, 10, 1), seen = zeros<int>(other, 10);
    s.synchronize();
    other.synchronize();
    Gate gate;
    const Drained drained;
    gate.hold(s);
    HeldThread second(launch_call, At::end, [&] { launch(s, Add{}, dim(10), x, 1); });
    REQUIRE(second.is_held());
    other.wait_stream(s);  // the driver already has the launch, so the wait covers it
    {
        const check::ScopedOff meant;  // the launch is reported to the checker when it returns
        launch(other, CopyKernel{}, dim(10), x, seen);
    }
    second.release();
    gate.open();
    CHECK(to_host(other, seen) == Ints(10, 2));
}

TEST_CASE("child: synchronizing while a thread is held inside a launch", "[.child]") {
    warm_up();
    const Stream s(gpu()), other(gpu());
    Array<int> x = ready_full<int>(s, 10, 1);
    const Drained drained;
    HeldThread second(launch_call, At::begin, [&] { launch(s, Add{}, dim(10), x, 1); });
    REQUIRE(second.is_held());
    CHECK(s.is_complete());
    s.synchronize();
    synchronize_device(gpu());
    const Event event = s.record_event();
    event.synchronize();
    other.wait_stream(s);
    CHECK(to_host(other, x) == Ints(10, 1));
    second.release();
    CHECK(to_host(s, x) == Ints(10, 2));
}

TEST_CASE("child: a wait inside which a thread is held", "[.child]") {
    warm_up();
    const Stream a(gpu()), b(gpu());
    Array<int> x = full<int>(b, 10, 1), seen = zeros<int>(a, 10);
    a.synchronize();
    b.synchronize();
    DrainedGate gate;
    launch(b, Multiply{}, dim(10), x, 2);
    HeldThread second(wait_call, At::begin, [&] { a.wait_stream(b); });
    REQUIRE(second.is_held());
    gate.hold(b);
    launch(b, Add{}, dim(10), x, 1);
    SECTION("another one meanwhile") {
        a.wait_stream(b);
        second.release();
    }
    SECTION("another one afterwards") {
        second.release();
        a.wait_stream(b);
    }
    launch(a, CopyKernel{}, dim(10), x, seen);
    gate.open();
    CHECK(to_host(a, seen) == Ints(10, 3));
}

TEST_CASE("child: a batch beside a thread that is held inside a launch", "[.child]") {
    warm_up();
    const Stream origin(gpu()), side(gpu());
    Array<int> x = ready_zeros<int>(side, 10);
    DrainedGate gate;
    Batch step;
    HeldThread second(launch_call, At::begin, [&] { launch(side, Add{}, dim(10), x, 1); });
    REQUIRE(second.is_held());
    {
        const ScopedBatch batch(step, origin);
        launch_host(origin, [] {});
        side.wait_stream(origin);
        CHECK_FALSE(is_recorded(side));  // the other thread is still inside the launch
        gate.hold(side);
        launch(side, Set{}, dim(10), x, 5);
        CHECK_FALSE(is_recorded(side));
    }
    second.release();
    gate.open();
    CHECK(to_host(side, x) == Ints(10, 6));
    {
        const ScopedBatch batch(step, origin);
        launch_host(origin, [] {});
        side.wait_stream(origin);
        CHECK(is_recorded(side));  // the other thread's launch has been enqueued
    }
}

TEST_CASE("child: the launch of a graph fails and host functions run all the same", "[.child]") {
    warm_up();
    const Stream s(gpu());
    const OrderLog seen;
    const Flag started, go;
    const Drained drained;
    const auto graph_of = [&](const char* name) {
        auto first = host_node(gpu(), [=] {
            seen.add(name);
            started.set();
            go.wait();
        });
        return host_node(gpu(), [=] { seen.add(name); }).after(first).build();
    };
    Graph graph = graph_of("failed");
    graph.instantiate();
    const long executables = objects_alive()["executables"];
    inside_call("cuGraphLaunch", At::end, [started] {
        started.wait();  // then the graph's first host function has used its turn
        return int{cudaErrorUnknown};
    });
    const Reports reports;
    CHECK(error_of([&] { graph.launch(s); })->native_code() == cudaErrorUnknown);
    graph.reset();
    (void)Stream(gpu());                                   // runs deferred cleanups
    CHECK(objects_alive()["executables"] == executables);  // the failed graph still runs
    Graph next = graph_of("next");
    go.set();
    next.launch(s);
    s.synchronize();
    CHECK(seen.seen() == Strings{"failed", "next", "next"});
    REQUIRE(reports.all().size() == 1);  // the second function's turn was withdrawn
    CHECK(mentions(reports.all().front(), "launched outside heddle"));
    CHECK(eventually([&] {
        (void)Stream(gpu());
        return objects_alive()["executables"] == executables;  // only the one of `next` is left
    }));
}

TEST_CASE("a wait on a GPU, made while a thread is inside a launch, makes no later wait needless",
          "[cuda]") {
    run_in_child("child: a thread is held inside a launch");
}
TEST_CASE("a wait on a GPU covers a launch that its thread has not counted yet", "[cuda]") {
    run_in_child("child: a thread is held behind a launch that heddle has not counted");
}
TEST_CASE("nothing that synchronizes on a GPU waits for a thread inside a launch", "[cuda]") {
    run_in_child("child: synchronizing while a thread is held inside a launch");
}
TEST_CASE("a wait on a GPU inside which a thread is held lets no later wait be left out",
          "[cuda]") {
    run_in_child("child: a wait inside which a thread is held");
}
TEST_CASE("a batch on a GPU leaves a stream alone on which a thread is inside a launch", "[cuda]") {
    run_in_child("child: a batch beside a thread that is held inside a launch");
}
TEST_CASE("a graph whose launch failed is kept while the part runs that CUDA has enqueued",
          "[cuda]") {
    run_in_child("child: the launch of a graph fails and host functions run all the same");
}
