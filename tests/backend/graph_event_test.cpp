// Graphs that record events or wait for them, if an event is destroyed before the graph.
#include "support.hpp"

using namespace heddle_test;

TEST_CASE("a graph whose event is gone is not launched, and the node is named") {
    const Stream s(test_device());
    auto recorded = std::make_unique<Event>(test_device());
    auto waited = std::make_unique<Event>(s.record_event());
    Graph records = capture(s, [&] { record_external(s, *recorded); });
    Graph waits = capture(s, [&] { wait_external(s, *waited); });
    records.launch(s);
    waits.launch(s);
    s.synchronize();
    recorded.reset();
    waited.reset();
    const auto first = error_of([&] { records.launch(s); }),
               second = error_of([&] { waits.launch(s); });
    REQUIRE(first);
    CHECK(first->code() == ErrorCode::usage);
    CHECK(mentions(first, "the event record (node 0) uses an event that was destroyed"));
    REQUIRE(second);
    CHECK(mentions(second, "the event wait (node 0) uses an event that was destroyed"));
    const Graph copy = records.clone();
    CHECK_THROWS_AS(Graph(copy.clone()).launch(s), UsageError);
}

TEST_CASE("a graph never records an event that was made after its own was destroyed") {
    DrainedGate gate;
    const Stream s(test_device()), held(test_device());
    for (const bool timing : {false, true}) {
        const EventOptions options{.timing = timing};
        auto mark = std::make_unique<Event>(test_device(), options);
        Graph graph = capture(s, [&] { record_external(s, *mark); });
        graph.launch(s);
        s.synchronize();
        mark.reset();
        std::vector<Event> others;
        for (int i = 0; i < 4; ++i) others.emplace_back(test_device(), options);
        CHECK_THROWS_AS(graph.launch(s), UsageError);
        for (const Event& other : others) CHECK_FALSE(other.is_recorded());
    }
}

TEST_CASE("an event that goes in a capture is not another one when its graph is launched") {
    const Stream s(test_device());
    Graph graph = capture(s, [&] {
        const Event waited(test_device());
        wait_external(s, waited);
    });
    CHECK_THROWS_AS(graph.launch(s), UsageError);
}

TEST_CASE("an event is destroyed while a graph that records it is under way") {
    for (const EventOptions options :
         {EventOptions{}, EventOptions{.timing = true}, EventOptions{.interprocess = true}}) {
        DrainedGate gate;
        const Stream s(test_device());
        std::atomic<bool> ran{false};
        auto mark = std::make_unique<Event>(test_device(), options);
        Graph graph = capture(s, [&] {
            launch_host(s, [] {});
            record_external(s, *mark);
            launch_host(s, [&] { ran = true; });
        });
        gate.hold(s);
        graph.launch(s);
        graph.reset();
        mark.reset();
        Event other(test_device(), options);  // must not get the memory of `mark`
        const Stream held(test_device());
        Gate last;
        last.hold(held);
        other.record(held);
        gate.open();
        s.synchronize();
        CHECK(ran);
        CHECK_FALSE(other.is_complete());
        last.open();
        other.synchronize();
    }
}

TEST_CASE("an event is destroyed while a graph that waits for it is under way") {
    DrainedGate gate;
    const Stream s(test_device()), other(test_device());
    std::atomic<bool> ran{false};
    gate.hold(other);
    auto mark = std::make_unique<Event>(test_device(), EventOptions{.interprocess = true});
    mark->record(other);
    Graph graph = capture(s, [&] {
        wait_external(s, *mark);
        launch_host(s, [&] { ran = true; });
    });
    graph.launch(s);
    graph.reset();
    mark.reset();
    finish_work(test_device());
    CHECK_FALSE(ran);
    gate.open();
    s.synchronize();
    CHECK(ran);
}

TEST_CASE("a batch that is sent again records the event of this time") {
    const Stream s(test_device());
    Batch batch({.on_cpu = true});
    for (int i = 0; i < 6; ++i) {
        Event mark(test_device(), {.timing = true});
        {
            ScopedBatch in(batch, s);
            launch_host(s, [] {});
            mark.record(s);
            in.end();
        }
        CHECK(mark.is_recorded());
        mark.synchronize();
        CHECK(mark.is_complete());
    }
}

// When the CPU stream's wait is processed, the event already has a newer record.
TEST_CASE(
    "a wait of a CPU stream for an event is not held up by a graph that records the event again") {
    const Drained drained;
    const Stream s(test_device()), after(test_device()), cpu(cpu_device());
    Event event(test_device());
    Graph records = capture(after, [&] {
        launch_host(after, [] {});
        record_external(after, event);
    });
    for (const bool is_instantiated : {false, true}) {
        if (is_instantiated) records.instantiate();
        Gate gate(s);
        event.record(s);
        cpu.wait_event(event);
        after.wait_stream(cpu);  // so the graph records the event after the wait
        records.launch(after);
        gate.open();
        CHECK(eventually([&] { return after.is_complete(); }));
    }
}

TEST_CASE("a graph that waits for an event waits for its newest record, also when a CPU stream "
          "waits for an "
          "older one") {
    const Drained drained;
    const Stream first(test_device()), second(test_device()), waiter(test_device()),
        cpu(cpu_device());
    Event event(test_device());
    Graph waits = wait_node(event).build();
    waits.instantiate();
    Gate older, newer;
    older.hold(first);
    newer.hold(second);
    event.record(first);
    cpu.wait_event(event);
    event.record(second);
    waits.launch(waiter);
    older.open();
    cpu.synchronize();
    finish_work(test_device());
    CHECK_FALSE(waiter.is_complete());
    newer.open();
    waiter.synchronize();
}
