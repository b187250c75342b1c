// Converts times by the clocks of CUDA devices to the host's clock.
#include "timeline/record/device_times.hpp"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "catch.hpp"

using namespace heddle::detail;

namespace {

constexpr Moment us = 1000, ms = 1000 * us;

/// Returns the time by the device's clock, which runs 40 ppm fast and has another origin.
std::int64_t shown_at(Moment host) {
    return host + 7'000'000'123 + std::llround(40e-6 * static_cast<double>(host));
}

/// A stream of one CUDA device. Each operation starts 5 us after its call and runs for 20 us.
struct Made {
    Trace trace;
    std::vector<DeviceRun> runs;
    std::vector<DeviceReading> readings;
    std::vector<Moment> starts, ends;  ///< the true times of each operation

    Made() {
        trace.devices.push_back({.is_cuda = true, .index = 3});
        trace.streams.push_back({.id = 1, .device = 0});
    }
    void run(Moment called, bool with_start) {
        TraceOp op;
        op.id = 100 + trace.ops.size();
        op.stream = 0;
        op.position = trace.ops.size() + 1;
        op.call_begin = called;
        op.call_end = called + 3 * us;
        trace.ops.push_back(op);
        starts.push_back(called + 5 * us);
        ends.push_back(called + 25 * us);
        runs.push_back({3, op.id, with_start ? shown_at(starts.back()) : unknown_moment,
                        shown_at(ends.back())});
    }
    /// Adds a host wait for all operations so far. The wait returns `late` ns after the last one
    /// ended.
    void synchronize(Moment late) {
        TraceOp op;
        op.kind = heddle::OpKind::synchronize;
        op.other = 0;
        op.other_position = trace.ops.back().position;
        op.call_begin = trace.ops.back().call_end;
        op.call_end = ends.back() + late;
        trace.ops.push_back(op);
        starts.push_back(unknown_moment);
        ends.push_back(unknown_moment);
    }
    void read_clock(Moment host) {
        readings.push_back({3, host, shown_at(host + 3 * us), host + 6 * us});
    }
    void give() { give_device_times(trace, runs, readings); }
    Moment error() const { return trace.devices[0].clock_error; }
};

bool is_near(Moment is, Moment should, Moment error) { return std::abs(is - should) <= error; }

}  // namespace

TEST_CASE("device times are right within the error that is told") {
    Made made;
    for (int i = 0; i < 3000; ++i) {
        const Moment now = i * ms;
        if (i % 1000 == 0) made.read_clock(now);
        made.run(now + 100 * us, i % 2 == 0);
    }
    made.read_clock(3000 * ms);
    made.give();
    CHECK(made.error() <= 4 * us);
    CHECK(made.trace.devices[0].clock == TraceClock::events);
    for (std::size_t i = 0; i < made.trace.ops.size(); ++i) {
        const TraceOp& op = made.trace.ops[i];
        if (!is_near(op.end, made.ends[i], made.error())) FAIL("end of operation " << i);
        if (i % 2 != 0) REQUIRE(op.start == unknown_moment);
        else if (!is_near(op.start, made.starts[i], made.error())) FAIL("start of " << i);
        if (op.start != unknown_moment && op.start < op.call_begin) FAIL("before the call: " << i);
    }
}

TEST_CASE("calls and host waits bound a device's clock where it was never read") {
    Made made;
    for (int i = 0; i < 100; ++i) {
        made.run(i * ms, true);
        made.synchronize(4 * us);
    }
    made.give();
    CHECK(made.error() <= 6 * us);
    CHECK(is_near(made.trace.ops[0].end, made.ends[0], made.error()));
}

TEST_CASE("a wait for earlier work says nothing of later work") {
    Made made;
    made.read_clock(0);
    made.run(100 * us, true);
    made.synchronize(1 * us);
    made.trace.ops.back().other_position = 1;
    made.run(110 * us, true);  // ends after the wait returns
    made.trace.ops[1].call_end = made.ends[0] + 1 * us;
    made.give();
    CHECK(is_near(made.trace.ops[2].end, made.ends[2], made.error()));
}

TEST_CASE("runs of operations that were lost, and of other devices, change nothing") {
    Made made;
    made.trace.devices.push_back({.is_cuda = false, .index = 3, .clock = TraceClock::workers});
    made.run(100 * us, true);
    made.read_clock(0);
    const Trace before = made.trace;
    made.runs = {{3, 5, unknown_moment, 17}, {9, 100, 3, 17}};
    made.give();
    CHECK(made.trace == before);
    made.runs.clear();
    made.give();
    CHECK(made.trace == before);
}

namespace {

/// Returns the time by CUPTI's clock, which is the same for all devices.
std::int64_t cupti_at(Moment host) { return host + 1'700'000'000'000'000'000; }

/// A graph launch on device 3. Its two nodes are a kernel and a copy.
struct Recorded : Made {
    Recorded() {
        trace.devices[0].processors = 1;
        trace.graphs.push_back({.id = 9, .nodes = std::vector<TraceNode>(2)});
        for (int i = 0; i < 3; ++i) {
            TraceOp op;
            op.id = 100 + trace.ops.size();
            op.stream = 0;
            op.device = 0;
            op.position = trace.ops.size() + 1;
            op.call_begin = (i * 100) * us;
            op.call_end = op.call_begin + 2 * us;
            if (i == 1) {
                op.kind = heddle::OpKind::graph_launch;
                op.graph = 0;
            }
            trace.ops.push_back(op);
        }
        for (int i = 0; i < 3; ++i) read(i * 100 * us);
    }
    void read(Moment host) {
        readings.push_back({-1, host, cupti_at(host + 25), host + 50, heddle::DeviceClock::cupti});
    }
    void ran(std::uint64_t id, Moment start, Moment end, std::int64_t node = -1, int device = 3) {
        runs.push_back(
            {device, id, cupti_at(start), cupti_at(end), heddle::DeviceClock::cupti, node});
    }
};

}  // namespace

TEST_CASE("CUPTI's times are known with their starts, on one clock for all devices") {
    Recorded made;
    made.ran(100, 10 * us, 30 * us);
    made.give();
    CHECK(made.trace.devices[0].clock == TraceClock::cupti);
    CHECK(made.error() <= us);
    CHECK(is_near(made.trace.ops[0].start, 10 * us, made.error()));
    CHECK(is_near(made.trace.ops[0].end, 30 * us, made.error()));
}

TEST_CASE(
    "an operation whose parts are told runs from the first one's start to the last one's end") {
    Recorded made;
    made.ran(100, 20 * us, 25 * us);
    made.ran(100, 40 * us, 45 * us);
    made.ran(100, 10 * us, 15 * us);
    made.give();
    CHECK(is_near(made.trace.ops[0].start, 10 * us, made.error()));
    CHECK(is_near(made.trace.ops[0].end, 45 * us, made.error()));
}

TEST_CASE(
    "nodes of graphs have the times that CUPTI tells, and a graph's other parts are its own") {
    Recorded made;
    made.ran(101, 150 * us, 160 * us, 1);
    made.ran(101, 120 * us, 140 * us, 0);
    made.ran(101, 110 * us, 115 * us);        // the node is unknown
    made.ran(101, 170 * us, 180 * us, 7);     // the graph has no such node
    made.ran(101, 161 * us, 162 * us, 1, 5);  // the device has no streams
    made.ran(102, 210 * us, 220 * us, 0);     // this operation is not a graph
    made.give();
    REQUIRE(made.trace.node_runs.size() == 3);
    CHECK(made.trace.node_runs[0].node == 0);
    CHECK(made.trace.node_runs[0].launch == 101);
    CHECK(is_near(made.trace.node_runs[0].start, 120 * us, made.error()));
    CHECK(is_near(made.trace.node_runs[0].end, 140 * us, made.error()));
    CHECK(made.trace.node_runs[1].node == 1);
    CHECK(made.trace.node_runs[2].node == 1);
    CHECK(is_near(made.trace.ops[1].start, 110 * us, made.error()));
    CHECK(is_near(made.trace.ops[1].end, 180 * us, made.error()));
    CHECK(is_near(made.trace.ops[2].end, 220 * us, made.error()));
}

TEST_CASE("a device may have times of both clocks") {
    Recorded made;
    made.read_clock(0);
    made.read_clock(200 * us);
    made.ran(100, 10 * us, 30 * us);
    made.runs.push_back({3, 102, unknown_moment, shown_at(250 * us)});  // measured by an event
    made.runs.push_back({3, 100, unknown_moment, shown_at(50 * us)});   // the host measured its end
    made.give();
    CHECK(made.trace.devices[0].clock == TraceClock::cupti);
    CHECK(made.error() <= 4 * us);
    CHECK(is_near(made.trace.ops[0].start, 10 * us, made.error()));
    CHECK(is_near(made.trace.ops[0].end, 50 * us, made.error()));
    CHECK(made.trace.ops[2].start == unknown_moment);
    CHECK(is_near(made.trace.ops[2].end, 250 * us, made.error()));
}
