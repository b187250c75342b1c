// Recordings with timing events: times of operations on CUDA devices.
#include "gpu_recordings.cuh"

#include "core/stream/notify.hpp"

using namespace heddle_test;

CUDA_TEST_CASE("kernels of a GPU have the times that they took, on the host's clock") {
    const Stream s(gpu());
    spin(s, us);
    s.synchronize();
    TimelineObserver observer({});
    for (int i = 0; i < 10; ++i) spin(s, 300 * us);
    s.synchronize();
    const Trace trace = observer.trace();
    CHECK(the_device(trace).clock == TraceClock::events);
    const std::int64_t error = the_device(trace).clock_error;
    CHECK(error <= 10 * us);
    const std::vector<TraceOp> kernels = of_kind(trace, OpKind::launch);
    REQUIRE(kernels.size() == 10);
    const std::vector<TraceOp> waits = of_kind(trace, OpKind::synchronize);
    REQUIRE(waits.size() == 1);
    CHECK(kernels[0].start != unknown_moment);  // known, because the stream was idle
    CHECK(kernels[0].start >= kernels[0].call_begin);
    CHECK(kernels[0].end - kernels[0].start >= 290 * us);
    CHECK(kernels[5].start == unknown_moment);
    for (std::size_t i = 1; i < kernels.size(); ++i)
        CHECK(kernels[i].end - kernels[i - 1].end >= 290 * us);
    CHECK(kernels.back().end <= waits[0].call_end + error);
}

CUDA_TEST_CASE(
    "copies, fills and launched graphs of a GPU have times, and what is captured has none") {
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 1 << 20), y = zeros<int>(s, 1 << 20);
    auto host = pinned<int>(1 << 20);
    s.synchronize();
    TimelineObserver observer({});
    Graph graph;
    {
        ScopedCapture capture(s);
        spin(s, 50 * us);
        copy(s, y, x);
        graph = capture.end();
    }
    graph.launch(s);
    copy(s, host, x);
    fill(s, x, 3);
    s.synchronize();
    const Trace trace = observer.trace();
    REQUIRE(of_kind(trace, OpKind::launch).size() == 1);
    CHECK(of_kind(trace, OpKind::launch)[0].end == unknown_moment);
    const std::vector<TraceOp> graphs = of_kind(trace, OpKind::graph_launch),
                               copies = of_kind(trace, OpKind::copy),
                               fills = of_kind(trace, OpKind::fill);
    REQUIRE(graphs.size() == 1);
    REQUIRE(copies.size() == 2);
    REQUIRE(fills.size() == 1);
    CHECK(copies[0].end == unknown_moment);
    CHECK(graphs[0].end != unknown_moment);
    CHECK(graphs[0].end < copies[1].end);
    CHECK(copies[1].end < fills[0].end);
}

CUDA_TEST_CASE("a kernel on a stream that became idle has a start of its own") {
    const Stream s(gpu());
    TimelineObserver observer({});
    for (int i = 0; i < 3; ++i) {
        spin(s, 20 * us);
        s.synchronize();
    }
    for (const TraceOp& op : of_kind(observer.trace(), OpKind::launch)) {
        CHECK(op.start != unknown_moment);
        CHECK(op.start >= op.call_begin);
    }
}

CUDA_TEST_CASE("nothing of a GPU is timed unless an observer wants times") {
    struct Counting final : Observer {
        std::atomic<int> runs{0};
        void on_op(const OpInfo&) noexcept override {}
        void on_run(const OpRun&) noexcept override { ++runs; }
    } counting;
    const Stream s(gpu());
    add_observer(counting);
    spin(s, us);
    s.synchronize();
    heddle::detail::tell_ended_runs();
    remove_observer(counting);
    CHECK(counting.runs == 0);
}

CUDA_TEST_CASE("recordings begin and end, and streams come and go, while GPU streams work") {
    const BusyStreams busy([](int thread, const Stream& s) {
        if (thread == 0) s.synchronize();
    });
    for (int i = 0; i < 20; ++i) {
        TimelineObserver observer({});
        CHECK(eventually([&] { return of_kind(observer.trace(), OpKind::launch).size() > 20; }));
        for (const TraceOp& op : observer.trace().ops)
            if (op.start != unknown_moment && op.end < op.start) FAIL("ends before it starts");
    }
}
