// Captures: recorded work, participating streams, rejected calls, and the state after a failure.
#include "kernels.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {

/// Returns whether the stream still runs new work.
bool works(StreamRef stream) {
    Flag ran;
    launch_host(stream, [ran] { ran.set(); });
    stream.synchronize();
    return ran.is_set();
}

}  // namespace

TEST_CASE("work of a stream in a capture runs when the graph is launched, and not before") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 100);
    fill(s, x, 1);
    Graph graph = capture(s, [&] {
        launch(s, Add{}, dim(100), x, 2);
        launch(s, Multiply{}, dim(100), x, 10);
    });
    CHECK(graph.size() == 2);
    CHECK(graph.edge_count() == 1);
    CHECK(to_host(x) == Ints(100, 1));
    graph.launch(s);
    CHECK(to_host(x) == Ints(100, 30));
    graph.launch(s);
    s.synchronize();
    CHECK(to_host(x) == Ints(100, 320));
}

TEST_CASE("a scoped capture makes its stream current, and end() gives the graph and the old stream "
          "back") {
    const Drained drained;
    const Stream s(test_device());
    const ScopedDevice on(test_device());
    const StreamRef before = current_stream();
    Array<int> x = zeros<int>(10);
    synchronize_stream(before);
    {
        ScopedCapture scope(s);
        CHECK(current_stream() == s);
        CHECK(is_capturing());
        CHECK(s.is_capturing());
        CHECK_FALSE(before.is_capturing());
        launch(Add{}, dim(10), x, 1);
        Graph graph = scope.end();
        CHECK(current_stream() == before);
        CHECK_FALSE(s.is_capturing());
        graph.launch(s);
    }
    s.synchronize();
    CHECK(to_host(x) == Ints(10, 1));
}

TEST_CASE("copies, fills, host functions and kernels are captured, and run in the stream's order") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 50), y = empty<int>(s, 50);
    auto out = pinned<int>(50);
    int calls = 0;
    Graph graph = capture(s, [&] {
        fill(s, x, 3);
        launch(s, Add{}, dim(50), x, 4);
        copy(s, y, x);
        copy(s, out, y);
        launch_host(s, [&] { calls += out.view()[49]; });
    });
    for (int i = 1; i <= 3; ++i) {
        graph.launch(s);
        s.synchronize();
        CHECK(calls == 7 * i);
    }
    CHECK(graph.nodes()[0].kind == NodeKind::fill);
    CHECK(graph.nodes()[4].kind == NodeKind::host_function);
}

TEST_CASE("another stream takes part by waiting, and has to be waited for") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Array<int> x = empty<int>(a, 20), y = empty<int>(a, 20), z = empty<int>(a, 20);
    fill(a, x, 1);
    fill(a, y, 1);
    fill(a, z, 10);
    Graph graph = capture(a, [&] {
        launch(a, Add{}, dim(20), x, 1);
        b.wait_stream(a);
        CHECK(b.is_capturing());
        launch(b, AddTo{}, dim(20), x, y);
        launch(a, AddTo{}, dim(20), x, z);  // may run while the launch on b runs
        a.wait_stream(b);
        launch(a, AddTo{}, dim(20), y, z);
    });
    CHECK_FALSE(b.is_capturing());
    CHECK(graph.size() == 4);
    CHECK(graph.edge_count() == 4);
    graph.launch(a);
    a.synchronize();
    CHECK(to_host(y) == Ints(20, 3));
    CHECK(to_host(z) == Ints(20, 15));
}

TEST_CASE("a stream that does not come back is an error that names it, unless it is to be joined") {
    const Drained drained;
    const Stream a(test_device());
    const Stream b(test_device(), {.name = "lonely"});
    Array<int> x = empty<int>(a, 20);
    fill(a, x, 0);
    const auto fork = [&] {
        launch(a, Add{}, dim(20), x, 1);
        b.wait_stream(a);
        launch(b, Add{}, dim(20), x, 1);
    };
    CHECK(mentions(error_of([&] { (void)capture(a, fork); }), "lonely"));
    CHECK_FALSE(a.is_capturing());
    CHECK_FALSE(b.is_capturing());
    CHECK(works(a));
    CHECK(works(b));
    Graph graph = capture(a, fork, {.join = true});
    graph.launch(a);
    a.synchronize();
    CHECK(to_host(x) == Ints(20, 2));
}

// The same four operations (a diamond), captured in four styles.
namespace {
void check_diamond(const std::function<void(StreamRef, StreamRef, View<int>, View<int>, View<int>,
                                            View<int>)>& body) {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Array<int> x = empty<int>(a, 500), y = empty<int>(a, 500), z = empty<int>(a, 500),
               sum = empty<int>(a, 500);
    fill(a, sum, 0);
    const ScopedStream in(a, {.wait_on_enter = false});
    Graph graph = capture(a, [&] { body(a, b, x, y, z, sum); });
    CHECK(graph.size() == 4);
    CHECK(graph.edge_count() == 4);
    int expected = 0;
    for (int i = 0; i < 20; ++i) {
        fill(a, x, i);
        graph.launch(a);
        expected += 2 * (i + 1);
    }
    a.synchronize();
    CHECK(to_host(sum) == Ints(500, expected));
}

struct Sum {  // z[i] += x[i] + y[i]
    HEDDLE_FN void operator()(std::size_t i, View<const int> x, View<const int> y,
                              View<int> z) const {
        z[i] += x[i] + y[i];
    }
};
}  // namespace

TEST_CASE("a diamond captured with explicit streams and wait_stream") {
    check_diamond(
        [](StreamRef a, StreamRef b, View<int> x, View<int> y, View<int> z, View<int> sum) {
            launch(a, Add{}, dim(500), x, 1);
            b.wait_stream(a);
            copy(b, y, x);
            launch(a, CopyKernel{}, dim(500), x, z);
            a.wait_stream(b);
            launch(a, Sum{}, dim(500), y, z, sum);
        });
}

TEST_CASE("a diamond captured with explicit streams and events") {
    check_diamond(
        [](StreamRef a, StreamRef b, View<int> x, View<int> y, View<int> z, View<int> sum) {
            launch(a, Add{}, dim(500), x, 1);
            const Event top = a.record_event();
            b.wait_event(top);
            copy(b, y, x);
            const Event side = b.record_event();
            launch(a, CopyKernel{}, dim(500), x, z);
            a.wait_event(side);
            launch(a, Sum{}, dim(500), y, z, sum);
        });
}

TEST_CASE("a diamond captured with scopes and wait_stream") {
    check_diamond(
        [](StreamRef a, StreamRef b, View<int> x, View<int> y, View<int> z, View<int> sum) {
            launch(Add{}, dim(500), x, 1);
            {
                const ScopedStream in(b);
                copy(y, x);
            }
            launch(CopyKernel{}, dim(500), x, z);
            a.wait_stream(b);
            launch(Sum{}, dim(500), y, z, sum);
        });
}

TEST_CASE("a diamond captured with scopes and events") {
    check_diamond([](StreamRef, StreamRef b, View<int> x, View<int> y, View<int> z, View<int> sum) {
        launch(Add{}, dim(500), x, 1);
        Event top = record_event(), side(test_device());
        {
            const ScopedStream in(b, {.wait_on_enter = false});
            wait_event(top);
            copy(y, x);
            record_event(side);
        }
        launch(CopyKernel{}, dim(500), x, z);
        wait_event(side);
        launch(Sum{}, dim(500), y, z, sum);
    });
}

TEST_CASE("branches of fork_join are captured side by side") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 64), y = empty<int>(s, 64), z = empty<int>(s, 64);
    fill(s, z, 0);
    Graph graph = capture(s, [&] {
        fork_join([&] { fill(x, 1); }, [&] { fill(y, 2); });
        launch(Sum{}, dim(64), x, y, z);
    });
    CHECK(graph.size() == 3);
    const std::vector<NodeInfo> nodes = graph.nodes();
    CHECK(nodes[0].after.empty());
    CHECK(nodes[1].after.empty());
    CHECK(nodes[2].after == std::vector<std::size_t>{0, 1});
    graph.launch(s);
    s.synchronize();
    CHECK(to_host(z) == Ints(64, 3));
}

TEST_CASE(
    "the host cannot wait for, or ask about, what takes part in a capture; the capture goes on") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 10);
    fill(s, x, 1);
    Event event(test_device());
    int refused = 0;
    Graph graph = capture(s, [&] {
        launch(s, Add{}, dim(10), x, 1);
        s.record_event(event);
        refused += mentions(error_of([&] { s.synchronize(); }), "capturing");
        refused += mentions(error_of([&] { (void)s.is_complete(); }), "capturing");
        refused += mentions(error_of([&] { synchronize_device(test_device()); }), "capturing");
        refused += mentions(error_of([&] { event.synchronize(); }), "capture");
        refused += mentions(error_of([&] { (void)event.is_complete(); }), "capture");
        for (const auto& error :
             {error_of([&] { (void)to_host(x); }), error_of([&] { (void)to_host(s, x); }),
              error_of([&] { (void)to_host(s, x.view().first(3)); })}) {
            REQUIRE(error);
            CHECK(error->call() == std::string("to_host"));
            refused += mentions(error, "copy it to pinned() memory in the capture");
        }
        std::vector<int> pageable(10);
        refused += mentions(error_of([&] { copy(s, x, pageable); }), "pinned()");
        launch(s, Add{}, dim(10), x, 1);
    });
    CHECK(refused == 9);
    CHECK(graph.size() == 2);
    graph.launch(s);
    s.synchronize();
    CHECK(to_host(x) == Ints(10, 3));
}

TEST_CASE("a captured stream cannot wait for work outside; what is outside joins by waiting") {
    const Drained drained;
    const Stream s(test_device()), outside(test_device(), {.name = "outside"});
    Gate gate(outside);
    const Event old = outside.record_event();
    Graph graph = capture(s, [&] {
        launch_host(s, [] {});
        CHECK(mentions(error_of([&] { s.wait_stream(outside); }), "outside"));
        CHECK(mentions(error_of([&] { s.wait_event(old); }), "outside its capture"));
        CHECK(mentions(error_of([&] {
                           const ScopedStream in(outside);
                           s.wait_event(old);
                       }),
                       "outside its capture"));
        s.wait_stream(outside);
    });
    CHECK(graph.size() == 1);
    gate.open();
    CHECK(works(outside));
}

TEST_CASE("streams of two captures cannot wait for each other") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    ScopedCapture first(a);
    {
        ScopedCapture second(b);
        CHECK(mentions(error_of([&] { a.wait_stream(b); }), "another capture"));
        CHECK(mentions(error_of([&] { const ScopedCapture again(a); }), "already"));
        (void)second.end();
    }
    launch_host(a, [] {});
    CHECK(first.end().size() == 1);
}

TEST_CASE("a body that throws, at any point, leaves every stream usable and nothing recorded") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Array<int> x = empty<int>(a, 30), y = empty<int>(a, 30);
    fill(a, x, 0);
    fill(a, y, 0);
    for (int at = 0; at < 9; ++at) {
        int step = 0;
        const auto point = [&] {
            if (step++ == at) throw Boom("at " + std::to_string(at));
        };
        CHECK_THROWS_AS((void)capture(a,
                                      [&] {
                                          point();
                                          launch(a, Add{}, dim(30), x, 1);
                                          point();
                                          const Event event = a.record_event({.timing = true});
                                          point();
                                          b.wait_event(event);
                                          point();
                                          const ScopedStream in(b);
                                          point();
                                          copy(y, x);
                                          point();
                                          fork_join([&] { fill(x, 1); }, [&] { point(); });
                                          point();
                                          launch_host([&] { point(); });
                                          a.wait_stream(b);
                                          point();
                                      }),
                        Boom);
        CHECK_FALSE(a.is_capturing());
        CHECK_FALSE(b.is_capturing());
        CHECK(works(a));
        CHECK(works(b));
    }
    CHECK(to_host(x) == Ints(30, 0));
    CHECK(to_host(y) == Ints(30, 0));
}

TEST_CASE("an event recorded in a capture without timing is a point of the graph, and of no use "
          "outside") {
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    Event event(test_device());
    Graph graph = capture(s, [&] {
        launch_host(s, [] {});
        s.record_event(event);
    });
    CHECK(graph.size() == 1);
    CHECK(mentions(error_of([&] { event.synchronize(); }), "capture"));
    CHECK(mentions(error_of([&] { other.wait_event(event); }), "record_external"));
    other.record_event(event);
    event.synchronize();
    CHECK(event.is_complete());
}

TEST_CASE("timing events are nodes: every launch records them") {
    const Drained drained;
    const Stream s(test_device());
    Event start(test_device(), {.timing = true}), end(test_device(), {.timing = true});
    Flag ran;
    Graph graph = capture(s, [&] {
        s.record_event(start);
        launch_host(s, [ran] { ran.set(); });
        s.record_event(end);
    });
    CHECK(graph.size() == 3);
    CHECK_FALSE(start.is_recorded());
    graph.launch(s);
    CHECK(elapsed(start, end).count() >= 0.0);
    CHECK(ran.is_set());
}

TEST_CASE("external events order graphs on two streams") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    Event made(test_device());
    Graph producer = capture(a, [&] {
        launch_host(a, [&] { seen.add("made"); });
        record_external(a, made);
    });
    Graph consumer = capture(b, [&] {
        wait_external(b, made);
        launch_host(b, [&] { seen.add("used"); });
    });
    gate.hold(a);
    producer.launch(a);
    consumer.launch(b);
    check_held(seen, gate, b, {"made", "used"});
}

TEST_CASE("a graph launched in a capture becomes part of the captured one") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 10);
    fill(s, x, 1);
    Graph inner = capture(s, [&] {
        launch(s, Add{}, dim(10), x, 1);
        launch(s, Multiply{}, dim(10), x, 2);
    });
    Graph outer = capture(s, [&] {
        inner.launch(s);
        launch(s, Add{}, dim(10), x, 5);
        inner.launch(s);
    });
    outer.launch(s);
    s.synchronize();
    CHECK(to_host(x) == Ints(10, ((1 + 1) * 2 + 5 + 1) * 2));
}

TEST_CASE("a captured graph is a child of a built one") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 10);
    fill(s, x, 1);
    const Graph inner = capture(s, [&] { launch(s, Multiply{}, dim(10), x, 3); });
    auto before = kernel_node(test_device(), Add{}, dim(10), x, 1);
    auto child = child_node(inner).after(before);
    auto after = kernel_node(test_device(), Add{}, dim(10), x, 2).after(child);
    Graph graph = after.build();
    graph.launch(s);
    s.synchronize();
    CHECK(to_host(x) == Ints(10, 8));
}

TEST_CASE("work is captured into a graph, at its end or after a node of it") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 10), y = empty<int>(s, 10);
    fill(s, x, 1);
    fill(s, y, 1);
    auto first = kernel_node(test_device(), Add{}, dim(10), x, 1);
    auto second = kernel_node(test_device(), Multiply{}, dim(10), x, 2).after(first);
    Graph graph = second.build();
    graph.instantiate();
    capture_into(graph, s, [&] { launch(s, AddTo{}, dim(10), x, y); });
    CHECK(graph.size() == 3);
    CHECK(graph.nodes()[2].after == std::vector<std::size_t>{1});
    Array<int> z = empty<int>(s, 10);
    capture_into(graph, s, [&] { fill(s, z, 9); }, {first});
    CHECK(graph.nodes()[3].after == std::vector<std::size_t>{0});
    graph.launch(s);
    s.synchronize();
    CHECK(to_host(y) == Ints(10, 5));
    CHECK(to_host(z) == Ints(10, 9));
}

TEST_CASE("a captured graph is cloned, changed and updated like a built one") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 10), y = empty<int>(s, 10);
    fill(s, x, 1);
    fill(s, y, 1);
    const auto body = [&](Array<int>& on, int by) {
        return capture(s, [&] {
            launch(s, Add{}, dim(10), on, by);
            launch(s, Multiply{}, dim(10), on, 2);
        });
    };
    Graph graph = body(x, 1);
    Graph clone = graph.clone();
    graph.instantiate();
    graph.update(body(y, 4));
    graph.launch(s);
    clone.launch(s);
    s.synchronize();
    CHECK(to_host(x) == Ints(10, 4));
    CHECK(to_host(y) == Ints(10, 10));
    graph.node("heddle_test::Multiply 1").disable();
    graph.launch(s);
    s.synchronize();
    CHECK(to_host(y) == Ints(10, 14));
}

TEST_CASE("captures on several threads at once do not know of each other") {
    const Drained drained;
    constexpr int threads = 4, rounds = 25;
    std::atomic<int> wrong{0};
    on_threads(threads, [&](int t) {
        const Stream a(test_device()), b(test_device());
        Array<int> x = empty<int>(a, 100);
        fill(a, x, 0);
        int expected = 0;
        for (int i = 0; i < rounds; ++i) {
            Graph graph = capture(a, [&] {
                launch(a, Add{}, dim(100), x, t + 1);
                b.wait_stream(a);
                launch(b, Add{}, dim(100), x, i);
                a.wait_stream(b);
            });
            graph.launch(a);
            graph.launch(a);
            expected += 2 * (t + 1 + i);
        }
        a.synchronize();
        auto back = pinned<int>(100);
        copy(a, back, x);
        a.synchronize();
        for (const int value : back.view()) wrong += value != expected;
    });
    CHECK(wrong == 0);
}

TEST_CASE("replays race with eager work on other streams, and order what they share by waits") {
    const Drained drained;
    const Stream replayed(test_device()), eager(test_device());
    Array<int> x = empty<int>(replayed, 1000), y = empty<int>(eager, 1000);
    fill(replayed, x, 0);
    fill(eager, y, 0);
    Graph graph = capture(replayed, [&] { launch(replayed, Add{}, dim(1000), x, 1); });
    for (int i = 0; i < 50; ++i) {
        graph.launch(replayed);
        eager.wait_stream(replayed);
        launch(eager, AddTo{}, dim(1000), x, y);
        launch(eager, Multiply{}, dim(1000), y, 1);
        replayed.wait_stream(eager);
    }
    eager.synchronize();
    CHECK(to_host(y) == Ints(1000, 50 * 51 / 2));
}

TEST_CASE("streams, events and graphs of a capture are destroyed in any order") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 100);
    fill(s, x, 0);
    Gate gate;
    {
        std::optional<Stream> a(std::in_place, test_device()), b(std::in_place, test_device());
        std::optional<Event> event(std::in_place, test_device());
        std::optional<ScopedCapture> scope(std::in_place, *a);
        launch(Add{}, dim(100), x, 1);
        a->record_event(*event);
        b->wait_event(*event);
        event.reset();
        launch(*b, Add{}, dim(100), x, 2);
        a->wait_stream(*b);
        b.reset();
        std::optional<Graph> graph = scope->end();
        scope.reset();
        a.reset();
        s.synchronize();
        gate.hold(s);
        graph->launch(s);
        graph.reset();
    }
    gate.open();
    s.synchronize();
    CHECK(to_host(x) == Ints(100, 3));
}

TEST_CASE(
    "a capture that was ended gives nothing more; one that ends without end() is thrown away") {
    const Drained drained;
    const Stream s(test_device());
    Flag ran;
    {
        const ScopedCapture scope(s);
        launch_host(s, [ran] { ran.set(); });
    }
    s.synchronize();
    CHECK_FALSE(ran.is_set());
    ScopedCapture scope(s);
    launch_host(s, [] {});
    (void)scope.end();
    CHECK(mentions(error_of([&] { (void)scope.end(); }), "already ended"));
}

TEST_CASE("a capture of nothing is a graph of nothing, and can be launched") {
    const Drained drained;
    const Stream s(test_device());
    Graph graph = capture(s, [] {});
    CHECK(graph.size() == 0);
    graph.launch(s);
    graph.launch(s);
    CHECK(works(s));
}

TEST_CASE("nodes of a captured graph are found by name and changed as what they are") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 10), y = empty<int>(s, 10);
    OrderLog seen;
    Graph graph = capture(s, [&] {
        fill(s, x, 1);
        launch(s, Add{}, dim(10), x, 1);
        copy(s, y, x);
        launch_host(s, [&] { seen.add("old"); });
    });
    graph.launch(s);
    KernelNode<Add, 1> add(graph.node("heddle_test::Add 1"));
    add.args(x, 5).dim(dim(5));
    FillNode(graph.node("fill 0")).with(x, 2);
    CopyNode(graph.node("copy 2")).between(y.view().first(7), x.view().first(7));
    HostNode(graph.node("host function 3")).call([&] { seen.add("new"); });
    graph.launch(s);
    s.synchronize();
    CHECK(to_host(y) == Ints{7, 7, 7, 7, 7, 2, 2, 2, 2, 2});
    CHECK(seen.seen() == Strings{"old", "new"});
    const GraphNode node = graph.node("heddle_test::Add 1");
    CHECK(mentions(error_of([&] { (void)KernelNode<Multiply, 1>(node); }),
                   "launches heddle_test::Add, not heddle_test::Multiply"));
    CHECK(mentions(error_of([&] { (void)KernelNode<Add, 2>(node); }),
                   "launches heddle_test::Add with 1 index, not 2"));
    CHECK(mentions(error_of([&] { (void)FillNode(graph.node("copy 2")); }), "is not a fill"));
}

TEST_CASE("captured kernels have the priority of their stream, unless the launch has one") {
    const PriorityRange range = test_device().priorities();
    const Stream urgent(test_device(), {.priority = range.greatest}), bulk(test_device());
    Array<int> x = zeros<int>(bulk, 10), y = zeros<int>(bulk, 10), z = zeros<int>(bulk, 10);
    bulk.synchronize();
    Graph graph = capture(bulk, [&] {
        urgent.wait_stream(bulk);
        launch(urgent, Add{}, dim(10), x, 1);
        launch(urgent, Add{}, dim(10).with({.priority = -1}), y, 2);
        launch(bulk, Add{}, dim(10), z, 3);
        bulk.wait_stream(urgent);
    });
    REQUIRE(graph.size() == 3);
    const std::vector<NodeInfo> nodes = graph.nodes();
    CHECK(nodes[0].priority == range.greatest);
    CHECK(nodes[1].priority == std::max(range.greatest, -1));
    CHECK(nodes[2].priority == 0);
    graph.launch(bulk);
    CHECK(to_host(bulk, x) == Ints(10, 1));
    CHECK(to_host(bulk, y) == Ints(10, 2));
    CHECK(to_host(bulk, z) == Ints(10, 3));
}
