// Graphs on CPU devices: beside other work, and launched on several streams.
#include "support.hpp"

using namespace heddle_test;

TEST_CASE("a graph on a CPU device lets more urgent work go first") {
    const OrderLog seen;
    const Drained drained;
    const Flag begun, enqueued, over;
    std::vector<Stream> others;
    // Keeps all workers but one busy. The remaining worker runs the graph.
    for (int i = 1; i < cpu_workers(); ++i) {
        const Flag busy;
        others.emplace_back(cpu_device());
        launch_host(others.back(), [busy, over] {
            busy.set();
            (void)over.wait();
        });
        REQUIRE(busy.wait());
    }
    const Stream low(cpu_device()), urgent(cpu_device(), {.priority = -5});
    Graph graph = capture(low, [&] {
        launch_host(low, [begun, enqueued] {
            begun.set();
            (void)enqueued.wait();
        });
        seen.note(low, "graph");
    });
    graph.launch(low);
    const bool has_begun = begun.wait();
    seen.note(urgent, "urgent");
    const Flag finished;
    launch_host(low, [finished] { finished.set(); });
    enqueued.set();
    // Unlike a wait for a stream, this wait runs none of the work on this thread.
    CHECK(finished.wait());
    low.synchronize();
    urgent.synchronize();
    over.set();
    CHECK(has_begun);
    CHECK(seen.seen() == Strings{"urgent", "graph"});
}

TEST_CASE("a failed launch of a graph poisons the stream it was launched on, and not that of the "
          "next launch") {
    for (const bool is_pending : {true, false}) {
        DrainedGate gate;
        const Stream a(cpu_device()), b(cpu_device());
        std::atomic<int> runs{0};
        Graph graph = capture(a, [&] {
            launch_host(a, [&] {
                if (runs++ == 0) throw Boom("the first launch");
            });
        });
        gate.hold(a);
        graph.launch(a);
        if (!is_pending) {
            gate.open();
            CHECK_THROWS_AS(a.synchronize(), WorkFailed);
        }
        graph.launch(b);
        gate.open();
        b.synchronize();
        CHECK(runs == 2);
        CHECK_THROWS_AS(a.synchronize(), WorkFailed);
    }
}

TEST_CASE("an event that a graph records on a stream that failed before has that failure") {
    DrainedGate gate;
    const Stream s(cpu_device());
    Event event(cpu_device());
    Graph graph = capture(s, [&] { record_external(s, event); });
    gate.hold(s);
    launch_host(s, [] { throw Boom("before"); });
    graph.launch(s);
    gate.open();
    CHECK(cause_of(*error_of([&] { event.synchronize(); })) == "before");
}
