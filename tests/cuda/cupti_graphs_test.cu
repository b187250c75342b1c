// Recordings with CUPTI: times of the nodes of graphs and batches on CUDA devices.
#include "cupti_recordings.cuh"

using namespace heddle_test;

TEST_CASE("graph_nodes_cupti: the nodes of a launched graph have their times", "[cuda]") {
    SKIP_WITHOUT_CUPTI();
    const Stream s(gpu()), side(gpu());
    Array<int> x = zeros<int>(s, 1 << 20), y = zeros<int>(s, 1 << 20);
    s.synchronize();
    TimelineObserver observer({.cupti = true});
    Graph graph;
    {
        ScopedCapture capture(s);
        spin(s, 50 * us);
        side.wait_stream(s);
        spin(side, 100 * us);
        spin(s, 80 * us);
        s.wait_stream(side);
        copy(s, y, x);
        fill(s, x, 0);
        graph = capture.end();
    }
    graph.launch(s);
    graph.launch(s);
    s.synchronize();
    const Trace trace = observer.trace();
    INFO(all_notes(trace));
    const std::vector<TraceOp> launches = of_kind(trace, OpKind::graph_launch);
    REQUIRE(launches.size() == 2);
    for (const TraceOp& launched : launches) {
        REQUIRE(launched.graph < trace.graphs.size());
        const TraceGraph& shape = trace.graphs[launched.graph];
        const std::vector<TraceNodeRun> runs = runs_of(trace, launched);
        std::vector<const TraceNodeRun*> by_node(shape.nodes.size());
        for (const TraceNodeRun& run : runs) {
            REQUIRE(run.node < shape.nodes.size());
            by_node[run.node] = &run;
        }
        std::size_t kernels = 0;
        for (std::size_t i = 0; i < shape.nodes.size(); ++i) {
            const OpKind kind = shape.nodes[i].kind;
            INFO("node " << i << ": " << to_string(kind));
            if (kind != OpKind::launch && kind != OpKind::copy && kind != OpKind::fill) continue;
            REQUIRE(by_node[i] != nullptr);
            if (kind == OpKind::launch) {
                ++kernels;
                CHECK(by_node[i]->end - by_node[i]->start >= 49 * us);
            }
            for (const std::uint32_t before : shape.nodes[i].after)
                if (by_node[before] != nullptr)
                    CHECK(by_node[before]->end <= by_node[i]->start + us);
        }
        CHECK(kernels == 3);
    }
    const std::vector<TraceNodeRun> first = runs_of(trace, launches[0]);
    const std::vector<TraceNodeRun> second = runs_of(trace, launches[1]);
    REQUIRE(first.size() == second.size());
    for (const TraceNodeRun& a : first)
        for (const TraceNodeRun& b : second) CHECK(a.end <= b.start + us);
}

TEST_CASE("the operations of a sent batch have their times by CUPTI, also when it is updated",
          "[cuda]") {
    SKIP_WITHOUT_CUPTI();
    const Stream s(gpu());
    TimelineObserver observer({.cupti = true});
    Batch batch;
    {
        ScopedStream in(s);
        for (int i = 0; i < 3; ++i)
            batch.run([&] {
                spin(s, (10 + i) * us);
                spin(s, (30 + i) * us);
            });
    }
    s.synchronize();
    const Trace trace = observer.trace();
    INFO(all_notes(trace));
    const std::vector<TraceOp> launches = of_kind(trace, OpKind::graph_launch);
    REQUIRE(launches.size() == 3);
    for (const TraceOp& launched : launches) {
        const std::vector<TraceNodeRun> runs = runs_of(trace, launched);
        REQUIRE(runs.size() == 2);
        CHECK(runs[0].node == 0);
        CHECK(runs[1].node == 1);
        CHECK(runs[1].end - runs[1].start >= 29 * us);
    }
}

TEST_CASE("the nodes of a graph have times even if it was launched before CUPTI recorded",
          "[cuda]") {
    SKIP_WITHOUT_CUPTI();
    const Stream s(gpu());
    std::vector<int> order;
    Graph graph;
    {
        ScopedCapture capture(s);
        spin(s, 50 * us);
        launch_host(s, [&order] { order.push_back(static_cast<int>(order.size())); });
        spin(s, 60 * us);
        graph = capture.end();
    }
    graph.launch(s);
    {
        TimelineObserver observer({.cupti = true});
        graph.launch(s);  // follows the previous launch, which may still run
        graph.launch(s);
        s.synchronize();
        CHECK(order == std::vector<int>{0, 1, 2});
        const Trace trace = observer.trace();
        INFO(all_notes(trace));
        const std::vector<TraceOp> launches = of_kind(trace, OpKind::graph_launch);
        REQUIRE(launches.size() == 2);
        for (const TraceOp& launched : launches) {
            const std::vector<TraceNodeRun> runs = runs_of(trace, launched);
            REQUIRE(runs.size() >= 2);
            CHECK(runs.front().end - runs.front().start >= 49 * us);
            CHECK(runs.back().end - runs.back().start >= 59 * us);
            CHECK(launched.end >= runs.back().end);
        }
    }
    graph.launch(s);
    s.synchronize();
    CHECK(order.size() == 4);
}

TEST_CASE("a batch remembered from before CUPTI recorded has times as a whole", "[cuda]") {
    SKIP_WITHOUT_CUPTI();
    const Stream s(gpu());
    ScopedStream in(s);
    Batch batch;
    const auto send = [&] {
        batch.run([&] {
            spin(s, 50 * us);
            spin(s, 50 * us);
        });
        s.synchronize();
    };
    send();
    TimelineObserver observer({.cupti = true});
    send();
    const Trace trace = observer.trace();
    INFO(all_notes(trace));
    const std::vector<TraceOp> launches = of_kind(trace, OpKind::graph_launch);
    REQUIRE(launches.size() == 1);
    REQUIRE(launches[0].start != unknown_moment);
    CHECK(launches[0].end - launches[0].start >= 99 * us);
}
