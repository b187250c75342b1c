// Notifications about captures, batches, graphs and collectives.
#include "kernel_launches.hpp"
#include "operation/watch.hpp"
#include "recording/spoil.hpp"

#include <map>

using namespace heddle_test;

TEST_CASE("what a capture records is told from what runs") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    Watch watch;
    launch(s, Add{}, dim(10), x, 1);
    CHECK(watch.take_only(OpKind::launch).op.mode == OpMode::run);
    Graph graph;
    {
        ScopedCapture capture(s);
        launch(s, Add{}, dim(10), x, 1);
        const Seen captured = watch.take_only(OpKind::launch);
        CHECK(captured.op.mode == OpMode::captured);
        CHECK(captured.op.recording != 0);
        graph = capture.end();
    }
    watch.take();
    graph.launch(s);
    const Seen launched = watch.take_only(OpKind::graph_launch);
    CHECK(launched.op.mode == OpMode::run);
    s.synchronize();
}

TEST_CASE("a graph launch names its nodes, edges and accesses") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, 10);
    struct Shapes final : Observer {
        std::vector<std::vector<std::uint32_t>> after;
        std::vector<OpAccess> kernel;
        std::vector<bool> known;
        std::vector<unsigned> lines;
        std::uint64_t ids[2] = {};
        int launches = 0;
        void on_op(const OpInfo& op) noexcept override {
            if (op.kind != OpKind::graph_launch || op.shape == nullptr) return;
            ids[launches++ % 2] = op.shape->id;
            for (const OpNode& node : op.shape->nodes) {
                after.emplace_back(node.after.begin(), node.after.end());
                known.push_back(node.accesses_known);
                lines.push_back(node.where.line);
                if (node.kind == OpKind::launch)
                    kernel.assign(node.accesses.begin(), node.accesses.end());
            }
        }
    } shapes;
    add_observer(shapes);
    Graph graph;
    unsigned line = 0;
    {
        ScopedCapture capture(s);
        line = __LINE__ + 1;
        launch(s, AddTo{}, dim(10), std::as_const(x), y);
        copy(s, x, y);
        graph = capture.end();
    }
    graph.launch(s);
    graph.launch(s);
    remove_observer(shapes);
    s.synchronize();
    REQUIRE(shapes.launches == 2);
    CHECK(shapes.ids[0] == shapes.ids[1]);
    REQUIRE(shapes.after.size() == 4);
    CHECK(shapes.after[0].empty());
    CHECK(shapes.after[1] == std::vector<std::uint32_t>{0});
    CHECK(shapes.known[0]);
    CHECK(shapes.known[1]);
    CHECK(shapes.lines[0] == line);
    REQUIRE(shapes.kernel.size() == 2);
    CHECK(shapes.kernel[0].data == x.data());
    CHECK_FALSE(shapes.kernel[0].writes());
    CHECK(shapes.kernel[1].data == y.data());
    CHECK(shapes.kernel[1].writes());
}

TEST_CASE("the shape of a graph changes with an argument of a node") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    auto node =
        kernel_node([] HEDDLE_FN(std::size_t i, View<int> v, int a) { v[i] += a; }, dim(10), x, 1);
    Graph graph = node.build();
    const auto shape_id = [&] {
        struct Id final : Observer {
            std::uint64_t id = 0;
            void on_op(const OpInfo& op) noexcept override {
                if (op.shape != nullptr) id = op.shape->id;
            }
        } seen;
        add_observer(seen);
        graph.launch(s);
        remove_observer(seen);
        return seen.id;
    };
    const std::uint64_t before = shape_id();
    CHECK(before != 0);
    CHECK(shape_id() == before);
    node.args(x, 2);
    CHECK(shape_id() != before);
    s.synchronize();
}

TEST_CASE("what a batch records, and its sending, belong together") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    Batch batch({.on_cpu = true});
    Watch watch;
    {
        ScopedBatch scope(batch, s);
        launch(s, Add{}, dim(10), x, 1);
        fill_zero(s, x);
    }
    const std::vector<Seen> all = watch.take();
    const std::vector<Seen> launches = of_kind(all, OpKind::launch);
    const std::vector<Seen> fills = of_kind(all, OpKind::fill);
    const std::vector<Seen> sent = of_kind(all, OpKind::graph_launch);
    REQUIRE(launches.size() == 1);
    REQUIRE(fills.size() == 1);
    REQUIRE(sent.size() == 1);
    CHECK(launches[0].op.mode == OpMode::batched);
    CHECK(fills[0].op.mode == OpMode::batched);
    CHECK(launches[0].op.recording != 0);
    CHECK(sent[0].op.recording == launches[0].op.recording);
    CHECK(sent[0].op.mode == OpMode::run);
    CHECK(sent[0].nodes == 2);
    REQUIRE(sent[0].node_names.size() == 2);
    CHECK_THAT(sent[0].node_names[0], contains("Add"));
    s.synchronize();
}

TEST_CASE("waits that order streams around a batch have the reason batch") {
    const Stream a(test_device()), b(test_device());
    Array<int> x = zeros<int>(a, 10);
    a.synchronize();  // with pending work, the stream would not join the batch
    Batch batch({.on_cpu = true});
    Watch watch;
    {
        ScopedBatch scope(batch, a);
        launch(a, Add{}, dim(10), x, 1);
        b.wait_stream(a);
        launch(b, Add{}, dim(10), x, 1);
    }
    std::size_t asked = 0, added = 0;
    for (const Seen& one : watch.take()) {
        if (one.kind != OpKind::wait) continue;
        asked += one.op.reason == WaitReason::user && one.op.mode == OpMode::batched;
        added += one.op.reason == WaitReason::batch && one.op.mode == OpMode::run;
    }
    CHECK(asked == 1);
    CHECK(added >= 1);
    b.synchronize();
}

TEST_CASE("observers are told that a batch was abandoned, and which") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    Batch batch({.on_cpu = true});
    Watch watch;
    {
        ScopedBatch scope(batch, s);
        launch(s, Add{}, dim(10), x, 1);
        spoil_batch(s);
        CHECK_THROWS_AS(scope.end(), UsageError);
    }
    const std::vector<Seen> all = watch.take();
    const std::vector<Seen> launches = of_kind(all, OpKind::launch);
    const std::vector<Seen> told = of_kind(all, OpKind::abandon);
    REQUIRE(launches.size() == 1);
    REQUIRE(told.size() == 1);
    CHECK(told[0].op.recording == launches[0].op.recording);
    CHECK(told[0].op.recording != 0);
    CHECK_FALSE(told[0].op.stream);
    CHECK(told[0].op.device == test_device());
    CHECK(of_kind(all, OpKind::graph_launch).empty());
    {
        ScopedBatch scope(batch, s);
        launch(s, Add{}, dim(10), x, 1);
    }
    CHECK(watch.take(OpKind::abandon).empty());
    s.synchronize();
}

TEST_CASE("the shares of a collective belong together") {
    const std::vector<Device> devices = test_devices();
    if (devices.size() < 2) HEDDLE_SKIP("needs two devices of one kind");
    DeviceGroup group(devices, {.transport = Transport::copies});
    std::vector<Stream> streams;
    std::vector<Array<int>> data;
    for (const Device device : devices) {
        const Stream& s = streams.emplace_back(device);
        data.push_back(full<int>(s, 100, 1));
    }
    Watch watch;
    group.all_reduce(streams, ReduceOp::sum, data);
    std::uint64_t number = 0;
    std::vector<bool> seen(devices.size());
    for (const Seen& one : watch.take()) {
        if (one.op.shares == 0) continue;
        CHECK(one.op.shares == devices.size());
        if (number == 0) number = one.op.collective;
        CHECK(one.op.collective == number);
        seen.at(one.op.share) = true;
    }
    CHECK(number != 0);
    CHECK(std::count(seen.begin(), seen.end(), true) == static_cast<long>(devices.size()));
    synchronize();
}

namespace {
/// Returns the number of reports for each result: of nodes if `of_nodes`, otherwise of operations.
/// Reports of dropped work must have no times.
std::map<RunResult, int> results(Watch& watch, bool of_nodes) {
    std::map<RunResult, int> counts;
    for (const OpRun& run : watch.runs()) {
        CHECK((run.end_ns != 0) == (run.result != RunResult::dropped));
        if ((run.node >= 0) == of_nodes) ++counts[run.result];
    }
    return counts;
}
}  // namespace

TEST_CASE("each node of a graph, and its launch, is reported once: succeeded, failed or dropped") {
    using Counts = std::map<RunResult, int>;
    const Drained drained;
    const Stream a(cpu_device()), b(cpu_device());
    const auto fails = [] { throw std::runtime_error("on purpose"); };
    Graph graph = capture(a, [&] {
        b.wait_stream(a);
        launch_host(b, [] {});
        launch_host(a, fails);
        launch_host(a, [] {});
        a.wait_stream(b);
    });
    {
        Watch watch({.times = true});
        graph.launch(a);
        CHECK_THROWS_AS(a.synchronize(), WorkFailed);
        CHECK(results(watch, false) == Counts{{RunResult::failed, 1}});
        CHECK(results(watch, true) ==
              Counts{{RunResult::succeeded, 1}, {RunResult::failed, 1}, {RunResult::dropped, 1}});
    }
    // The stream fails after the graph has been enqueued, so no node runs.
    (void)a.clear_error();
    Gate gate(a);
    Watch watch({.times = true});
    launch_host(a, fails);
    graph.launch(a);
    gate.open();
    CHECK_THROWS_AS(a.synchronize(), WorkFailed);
    CHECK(results(watch, false) == Counts{{RunResult::failed, 1}, {RunResult::dropped, 1}});
    CHECK(results(watch, true) == Counts{{RunResult::dropped, 3}});
}
